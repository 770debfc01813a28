"""How a run happens: compose, check, plan, run, record.

Nothing is imported here: ``python -m runner`` first makes sure that this project's own packages are the ones that
are found (see ``runner.__main__``). From a program or a notebook, ``runner.compose.compose_run`` is the way in.
"""
