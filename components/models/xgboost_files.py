"""Trees in XGBoost's JSON, looked through before XGBoost reads them: a file that doesn't hold makes it abort.

The layout is that of ``Booster.save_raw("json")``: arrays over the nodes of each tree, the children of a node standing
behind it.
"""

import json
from typing import Any

import numpy as np
import xgboost

from schemas.faults import DataError, Fault

TREES = "model.xgboost.json"

OBJECTIVES = frozenset({"binary:logistic", "multi:softprob", "reg:squarederror"})

LEAF = -1

ROOT = 2**31 - 1
"""What stands for the parent of a root."""

NO_CATEGORIES: dict[str, list[int]] = {"enc": [], "feature_segments": [], "sorted_idx": []}

OVER_NODES = (
    *("base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children"),
    *("split_conditions", "split_indices", "split_type", "sum_hessian"),
)


def read(data: bytes, threads: int) -> xgboost.Booster:
    """Read trees.

    Raises
    ------
    DataError
        The file is damaged, or isn't one of trees as `XgboostEngine` grows them.
    """
    try:
        sound = _sound(json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError, AttributeError):
        sound = False
    try:
        if sound:
            booster = xgboost.Booster({"nthread": threads})
            booster.load_model(bytearray(data))
            return booster
    except ValueError:  # which XGBoost's own error is
        pass
    raise DataError(Fault(TREES, "not the trees that model.json describes", remedy="train again"))


def _sound(root: dict[str, Any]) -> bool:
    """Tell whether a file holds together: its parts, their number, and every tree."""
    learner = root["learner"]
    model, params = learner["gradient_booster"]["model"], learner["learner_model_param"]
    trees, given = model["trees"], model["gbtree_model_param"]
    features, outputs = int(params["num_feature"]), max(int(params["num_class"]), 1)
    base = json.loads(params["base_score"])
    whole = (
        learner["gradient_booster"]["name"] == "gbtree",
        learner["objective"]["name"] in OBJECTIVES,
        params["num_target"] == given["num_parallel_tree"] == "1",
        int(given["num_trees"]) == len(trees) == len(model["tree_info"]),
        model["tree_info"] == [at % outputs for at in range(len(trees))],
        model["iteration_indptr"] == list(range(0, len(trees) + 1, outputs)),
        model["cats"] == NO_CATEGORIES,
        np.isfinite(base).all() and np.size(base) == outputs,
        np.shape(root["version"]) == (3,) and all(type(part) is int for part in root["version"]),
    )
    return all(whole) and all(_grown(tree, at, features) for at, tree in enumerate(trees))


def _grown(tree: dict[str, Any], at: int, features: int) -> bool:
    """Tell whether every node of a tree is a leaf, or leads to two nodes behind it."""
    params, nodes = tree["tree_param"], int(tree["tree_param"]["num_nodes"])
    over = {key: np.asarray(tree[key]) for key in OVER_NODES}
    left, right, split = over["left_children"], over["right_children"], over["split_indices"]
    whole = (
        tree["id"] == at,
        nodes > 0 and params["size_leaf_vector"] == "1" and int(params["num_feature"]) == features,
        all(part.shape == (nodes,) and part.dtype.kind in "if" and np.isfinite(part).all() for part in over.values()),
        all(part.dtype.kind == "i" for part in (left, right, split, over["parents"], over["split_type"])),
        not any(tree[key] for key in ("categories", "categories_nodes", "categories_segments", "categories_sizes")),
    )
    if not all(whole) or over["parents"][0] != ROOT:
        return False
    inner = np.flatnonzero(left != LEAF)
    children = np.stack([left[inner], right[inner]])
    return bool(
        ((right == LEAF) == (left == LEAF)).all()
        and ((children > inner) & (children < nodes)).all()
        and (over["parents"][children] == inner).all()
        and ((split >= 0) & (split < features)).all()
        and not over["split_type"].any()
        and np.isin(over["default_left"], (0, 1)).all()
    )
