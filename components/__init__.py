"""What is done: a plain library, usable from a notebook without Hydra and without the runner."""
