# SPDX-License-Identifier: Apache-2.0
"""Cases of ai.onnx.ml, as scikit-learn's models are written, and of strings."""
import numpy as np
from onnx import helper
from onnx_case import RANDOM, case, node, reals

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def learned(kind, inputs, outputs="y", **attributes):
    return node(kind, inputs, outputs, domain="ai.onnx.ml", **attributes)


def words(*values):
    return np.array(values, object)


def forest(votes, trees, depth, features, targets, weight, modes=MODES[:1], missing=True):
    """Attributes of whole trees with random splits; `weight` draws one vote. Splits lie on the data's grid, so that equality occurs."""
    nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        inner = 2**depth - 1
        for at in range(2 * inner + 1):
            is_leaf = at >= inner
            row = dict(treeids=tree, nodeids=at, featureids=int(RANDOM.integers(features)), values=float(RANDOM.integers(-6, 7)) / 4,
                       modes="LEAF" if is_leaf else str(RANDOM.choice(modes)), truenodeids=0 if is_leaf else 2 * at + 1,
                       falsenodeids=0 if is_leaf else 2 * at + 2, missing_value_tracks_true=int(RANDOM.integers(2)) if missing else 0)
            for key, value in row.items():
                nodes[key].append(value)
            for target in targets if is_leaf else ():
                for key, value in dict(treeids=tree, nodeids=at, ids=target, weights=float(weight())).items():
                    leaves[key].append(value)
    return {**{f"nodes_{k}": v for k, v in nodes.items()}, **{f"{votes}_{k}": v for k, v in leaves.items()}}


def grid(rows, features, kind=np.float32):
    return (RANDOM.integers(-6, 7, (rows, features)) / 4).astype(kind)


def trees():
    any_weight, share = lambda: RANDOM.normal(), lambda: RANDOM.uniform(0, 0.2)
    whole = grid(40, 5)
    holes = whole.copy()
    holes[::7, 2] = np.nan
    # ONNX Runtime 1.32 sends each NaN to the true branch of BRANCH_NEQ, ONNX's reference where nodes_missing_value_tracks_true says.
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        for name, modes, x in (("", MODES, whole), ("_holes", [mode for mode in MODES if mode != "BRANCH_NEQ"], holes)):
            case(f"trees_regressor_{aggregate}{name}", [learned("TreeEnsembleRegressor", "x", n_targets=2, aggregate_function=aggregate,
                 base_values=[0.5, -1.0], **forest("target", 5, 3, 5, (0, 1), any_weight, modes))], {"x": x}, learned=3)
    for transform in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        case(f"trees_regressor_{transform}", [learned("TreeEnsembleRegressor", "x", n_targets=3, post_transform=transform,
             **forest("target", 4, 3, 5, (0, 1, 2), any_weight))], {"x": holes}, learned=3, is_open=True)
    case("trees_regressor_f64", [learned("TreeEnsembleRegressor", "x", n_targets=1, **forest("target", 6, 4, 4, (0,), any_weight))],
         {"x": grid(30, 4, np.float64)}, learned=3)
    # As scikit-learn's random forests, its gradient boosting, and LightGBM's and XGBoost's two classes are written.
    for labels in (dict(classlabels_strings=["cat", "dog", "owl"]), dict(classlabels_int64s=[3, 5, 9])):
        kind = "words" if "classlabels_strings" in labels else "numbers"
        case(f"trees_classifier_{kind}", [learned("TreeEnsembleClassifier", "x", "label y", **labels,
             **forest("class", 5, 3, 5, (0, 1, 2), share))], {"x": grid(40, 5)}, learned=3, outputs=("label", "y"), is_open=True)
        case(f"trees_boosting_{kind}", [learned("TreeEnsembleClassifier", "x", "label y", base_values=[0.1, 0.2, 0.3], post_transform="SOFTMAX",
             **labels, **forest("class", 5, 3, 5, (0, 1, 2), any_weight))], {"x": holes}, learned=3, outputs=("label", "y"))
    for place in (0, 1):
        for sign, weight in (("positive", share), ("mixed", any_weight)):
            for transform in ("NONE", "LOGISTIC"):
                case(f"trees_binary_{place}_{sign}_{transform}", [learned("TreeEnsembleClassifier", "x", "label y", classlabels_int64s=[4, 7],
                     post_transform=transform, **forest("class", 7, 3, 5, (place,), weight))], {"x": grid(40, 5)}, learned=3,
                     outputs=("label", "y"))
    # Votes for both of two classes: ONNX Runtime's label is then 1 or 0, whatever the labels are. The expected one is of the higher score.
    attributes = forest("class", 3, 2, 5, (0, 1), share)
    x = grid(20, 5)
    scores = np.zeros((20, 2), np.float32)
    for row, sample in enumerate(x):
        for tree in range(3):
            at = first = tree * 7
            while attributes["nodes_modes"][at] != "LEAF":
                holds = sample[attributes["nodes_featureids"][at]] <= attributes["nodes_values"][at]
                at = first + attributes[f"nodes_{'true' if holds else 'false'}nodeids"][at]
            for vote in np.flatnonzero((np.array(attributes["class_treeids"]) == tree) & (np.array(attributes["class_nodeids"]) == at - first)):
                scores[row, attributes["class_ids"][vote]] += np.float32(attributes["class_weights"][vote])
    case("trees_votes_for_both", [learned("TreeEnsembleClassifier", "x", "label y", classlabels_int64s=[4, 7], **attributes)], {"x": x}, learned=3,
         outputs=("label", "y"), expected=[np.array([4, 7])[scores.argmax(1)], scores])
    places = dict(nodes_splits=[0.5, 0.0, -0.25], nodes_modes=[0, 6, 4])
    for kind, dtype in (("f32", 1), ("f64", 11)):
        tensor = lambda name, values: helper.make_tensor(name, dtype, [len(values)], values)
        case(f"trees_by_places_{kind}", [learned("TreeEnsemble", "x", n_targets=2, tree_roots=[0, 2], aggregate_function=1,
             nodes_featureids=[0, 1, 2], nodes_splits=tensor("a", places["nodes_splits"]),
             nodes_modes=helper.make_tensor("b", 2, [3], places["nodes_modes"]), nodes_truenodeids=[1, 0, 3], nodes_falsenodeids=[2, 1, 2],
             nodes_trueleafs=[0, 1, 1], nodes_falseleafs=[1, 1, 1], leaf_targetids=[0, 1, 0, 1],
             leaf_weights=tensor("c", [1.0, 2.0, 4.0, 8.0]), membership_values=tensor("d", [0.5, 1.25, float("nan")]))],
             {"x": grid(50, 3, np.float32 if dtype == 1 else np.float64)}, learned=5, opset=22)


def linear_models():
    x = reals(9, 4)
    for transform in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        attributes = dict(post_transform=transform, coefficients=reals(12).tolist(), intercepts=[0.1, 0.0, -0.3])
        case(f"linear_classifier_{transform}", [learned("LinearClassifier", "x", "label y", classlabels_strings=["a", "b", "c"], **attributes)],
             {"x": x}, learned=3, outputs=("label", "y"), is_open=True)
        case(f"linear_regressor_{transform}", [learned("LinearRegressor", "x", targets=3, **attributes)], {"x": x}, learned=3)
        if transform != "SOFTMAX_ZERO":
            case(f"linear_binary_{transform}", [learned("LinearClassifier", "x", "label y", classlabels_ints=[4, 6], post_transform=transform,
                 coefficients=reals(4).tolist(), intercepts=[0.05])], {"x": x}, learned=3, outputs=("label", "y"))
    case("linear_probit", [learned("LinearRegressor", "x", targets=1, coefficients=[0.1, 0.1, 0.1, 0.1], intercepts=[0.0], post_transform="PROBIT")],
         {"x": RANDOM.uniform(0.2, 2, (9, 4)).astype(np.float32)}, learned=3)
    case("linear_of_integers", [learned("LinearClassifier", "x", "label y", classlabels_ints=[4, 6], coefficients=[0.5, -0.25], intercepts=[0.05])],
         {"x": RANDOM.integers(-9, 9, (7, 2))}, learned=3, outputs=("label", "y"))
    # A pipeline ends with a map for each row: its values stay a tensor.
    chain = [learned("Scaler", "x", "s", offset=[0.5, 0.0, 1.0, 2.0], scale=[2.0, 1.0, 0.5, 1.0]),
             learned("LinearClassifier", "s", "label p", classlabels_ints=[0, 1], coefficients=[0.5, -0.25, 1.0, 0.1], intercepts=[0.0],
                     post_transform="LOGISTIC"), learned("Normalizer", "p", "y", norm="L1")]
    case("linear_pipeline", chain, {"x": x}, learned=3, outputs=("label", "y"), is_open=True)


def support_vectors():
    x, vectors = reals(12, 3), reals(9, 3)
    parameters = [0.4, 0.3, 3.0]
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        common = dict(kernel_type=kernel, kernel_params=parameters, support_vectors=vectors.ravel().tolist())
        case(f"vectors_regressor_{kernel}", [learned("SVMRegressor", "x", n_supports=9, rho=[0.3], coefficients=reals(9).tolist(), **common)],
             {"x": x}, learned=3, is_open=True)
        three = dict(vectors_per_class=[3, 4, 2], coefficients=reals(18).tolist(), rho=[0.1, -0.2, 0.3], classlabels_ints=[2, 4, 8])
        case(f"vectors_classifier_{kernel}", [learned("SVMClassifier", "x", "label y", **common, **three)], {"x": x}, learned=3, outputs=("label", "y"))
        case(f"vectors_probabilities_{kernel}", [learned("SVMClassifier", "x", "label y", prob_a=[-0.7, -0.9, -1.1], prob_b=[0.1, 0.0, -0.1],
             **common, **three)], {"x": x}, learned=3, outputs=("label", "y"), is_open=True)
        two = dict(vectors_per_class=[5, 4], coefficients=reals(9).tolist(), rho=[0.1], classlabels_strings=["no", "yes"])
        case(f"vectors_binary_{kernel}", [learned("SVMClassifier", "x", "label y", **common, **two)], {"x": x}, learned=3, outputs=("label", "y"))
        case(f"vectors_binary_probabilities_{kernel}", [learned("SVMClassifier", "x", "label y", prob_a=[-0.7], prob_b=[0.1], **common, **two)],
             {"x": x}, learned=3, outputs=("label", "y"))
    case("vectors_one_class", [learned("SVMRegressor", "x", n_supports=9, one_class=1, rho=[0.1], coefficients=reals(9).tolist(), kernel_type="RBF",
         kernel_params=parameters, support_vectors=vectors.ravel().tolist())], {"x": x}, learned=3)
    case("vectors_none", [learned("SVMRegressor", "x", rho=[0.1], coefficients=reals(3).tolist(), kernel_type="LINEAR", kernel_params=parameters)], {"x": x}, learned=3)


def features():
    x = np.array([[1, -2, 0], [0, 0, 0], [0.5, 3, -1]], np.float32)
    for norm in ("MAX", "L1", "L2"):
        case(f"normalizer_{norm}", [learned("Normalizer", "x", norm=norm)], {"x": x}, learned=3, is_open=True)
    case("scaler_integers", [learned("Scaler", "x", offset=[1.0], scale=[0.5])], {"x": RANDOM.integers(-9, 9, (4, 3))}, learned=3)
    holes = np.where(RANDOM.uniform(size=(6, 3)) < 0.4, np.nan, 1).astype(np.float32)
    case("imputer_nan", [learned("Imputer", "x", imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan"))], {"x": holes}, learned=3)
    case("imputer_integers", [learned("Imputer", "x", imputed_value_int64s=[7], replaced_value_int64=0)], {"x": RANDOM.integers(0, 2, (4, 3))}, learned=3)
    case("extract_features", [learned("ArrayFeatureExtractor", "x i")], {"x": x, "i": np.array([[2, 0]], np.int64)}, learned=3)
    case("extract_words", [learned("ArrayFeatureExtractor", "x i")], {"x": words(["a", "b", "c"], ["d", "e", "f"]), "i": np.array([2, 0], np.int64)},
         learned=3)
    case("feature_vectors", [learned("FeatureVectorizer", "a b", inputdimensions=[4, 2])], {"a": x, "b": reals(3, 2)}, learned=3)
    case("one_hot_numbers", [learned("OneHotEncoder", "x", cats_int64s=[1, 5, 2], zeros=1)], {"x": RANDOM.integers(0, 6, (4, 3))}, learned=3, is_open=True)
    case("one_hot_words", [learned("OneHotEncoder", "x", cats_strings=["a", "b"], zeros=1)], {"x": words(["a", "c"], ["b", "a"])}, learned=3)
    case("binarizer", [learned("Binarizer", "x", threshold=0.25)], {"x": x}, learned=3)
    case("category_to_number", [learned("CategoryMapper", "x", cats_int64s=[4, 9], cats_strings=["a", "b"], default_int64=-3)],
         {"x": words("a", "z", "b")}, learned=3)
    case("category_to_word", [learned("CategoryMapper", "x", cats_int64s=[4, 9], cats_strings=["a", "b"])], {"x": np.array([9, 1, 4])}, learned=3)


def encoders():
    keys = {"int64s": [3, -1, 7], "floats": [0.5, 2.0, -1.0], "strings": ["a", "", "longer than a small string holds"]}
    data = {"int64s": np.array([7, 3, 4, -1]), "floats": np.array([2.0, 0.5, 9, -1], np.float32),
            "strings": words("longer than a small string holds", "a", "other", "")}
    for source, from_values in keys.items():
        for target, to_values in keys.items():
            if source == target == "floats":
                continue
            case(f"labels_{source}_{target}", [learned("LabelEncoder", "x", **{f"keys_{source}": from_values, f"values_{target}": to_values})],
                 {"x": data[source]}, learned=3, is_open=True)
    case("labels_defaults", [learned("LabelEncoder", "x", keys_strings=["a"], values_floats=[1.5], default_float=-2.5)], {"x": words("a", "b")}, learned=3)
    # Between numbers of 64 bits that an f64 cannot tell apart.
    case("labels_large_numbers", [learned("LabelEncoder", "x", keys_int64s=[2**53, 2**53 + 1], values_strings=["even", "odd"])],
         {"x": np.array([2**53 + 1, 2**53])}, learned=3)
    case("labels_chain", [learned("LabelEncoder", "x", "n", keys_strings=["a", "b"], values_int64s=[1, 2]), node("Cast", "n", "f", to=1),
                          node("Softmax", "f")], {"x": words("a", "b", "c")}, learned=3, is_open=True)


def text():
    x = words(["one", "two", ""], ["three", "one", "a string that is longer than its object"])
    case("text_moves", [node("Transpose", "x", "t"), node("Reshape", "t s", "r"), node("Concat", "r r", "c", axis=0), node("Gather", "c i")],
         {"x": x}, {"s": np.array([6], np.int64), "i": np.array([[11, 0], [3, 3]], np.int64)}, is_open=True)
    case("text_slices", [node("Slice", "x b e a", "s"), node("Unsqueeze", "s a", "u"), node("Squeeze", "u a", "q"), node("Shape", "q", "n"),
                         node("Identity", "q")], {"x": x}, {"b": np.array([1], np.int64), "e": np.array([3], np.int64), "a": np.array([1], np.int64)},
         outputs=("y", "n"), opset=15)
    case("text_splits", [node("Split", "x", "y z w", axis=1, num_outputs=3)], {"x": x}, outputs=("y", "z", "w"))
    case("text_of_the_model", [node("Identity", "x"), node("Identity", "w", "v")], {"x": x}, {"w": words("constant")}, outputs=("y", "v"))
    case("text_where", [node("Equal", "x w", "same"), node("Where", "same x v", "y")], {"x": x}, {"w": words("one"), "v": words("another")},
         outputs=("y", "same"))
    case("text_unique", [node("Unique", "x", "y first inverse count", sorted=1)], {"x": x}, outputs=("y", "first", "inverse", "count"))
    for kind in (1, 6, 7, 11):
        case(f"text_to_number_{kind}", [node("Cast", "x", to=kind)], {"x": words("1", "-22", "+3") if kind in (6, 7) else
             words("1.5", "-2e3", "+3", "INF", "-INF", "NaN", "0.1")})
    case("text_from_integers", [node("Cast", "x", to=8)], {"x": np.array([1, -2**63, 2**62])})
    for mode in ("TF", "IDF", "TFIDF"):
        case(f"text_tfidf_{mode}", [node("TfIdfVectorizer", "x", mode=mode, min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 3],
             ngram_indexes=[0, 1, 2, 3, 4], pool_strings=["one", "two", "three", "one", "two", "three", "one"], weights=[1.0, 2.0, 0.5, 3.0, 1.5])],
             {"x": x}, opset=9)
    case("text_stopwords", [node("StringNormalizer", "x", case_change_action="UPPER", is_case_sensitive=0, stopwords=["ONE", "two"])],
         {"x": words("One", "TWO", "straße", "three")}, opset=10, expected=[words("STRAßE", "THREE")])
    case("text_split_blanks", [node("StringSplit", "x", "y n")], {"x": words("  a  b ", "", "c d e")}, outputs=("y", "n"),
         expected=[words(["a", "b", ""], ["", "", ""], ["c", "d", "e"]), np.array([2, 0, 3])])
    case("text_regex", [node("RegexFullMatch", "x", pattern=r"(\w+)@[a-z]{2,5}\.org")], {"x": words("ab@cde.org", "ab@c.org", "xab@cde.org ")})


GROUPS = (trees, linear_models, support_vectors, features, encoders, text)
