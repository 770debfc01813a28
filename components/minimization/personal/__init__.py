"""Personal disclosure: features are asked one at a time, as far as each person's prediction needs them."""
