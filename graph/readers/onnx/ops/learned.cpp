// SPDX-License-Identifier: Apache-2.0
// ai.onnx.ml: encoders of features and labels, scalers and linear models. Where the standard leaves a choice, ONNX Runtime's.
#include <cmath>
#include <numbers>

#include <tenon/graph/readers/onnx/internal/scores.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {
constexpr ElementType kReal = ElementType::kF32;

Out number_like(const Out& x, double value) { return scalar_like(x, value); }
Out is_equal(const Out& x, const Out& y) { return op("Equal", 1, {x, y}); }
Out greatest(const Out& rows) { return reduce("ReduceMax", rows, ints({-1}), true); }
Out total(const Out& rows) { return reduce("ReduceSum", rows, ints({-1}), true); }

/// sqrt(2) times the inverse error function of 2x - 1, by Winitzki's approximation, as ONNX has it.
Out probit(const Out& x) {
  const auto number = [&](double value) { return number_like(x, value); };
  const Out y = sub(mul(x, number(2)), number(1));
  const Out log = unary("Log", mul(sub(number(1), y), add(number(1), y)));
  const Out v = add(mul(log, number(0.5)), number(2 / (std::numbers::pi * 0.147)));
  const Out root = unary("Sqrt", sub(mul(v, v), mul(log, number(1 / 0.147))));
  return mul(mul(number(std::numbers::sqrt2), unary("Sign", y)), unary("Sqrt", sub(root, v)));
}

/// Softmax in which a score of 0 stays 0.
Out softmax_zero(const Out& x) {
  const Out most = greatest(x), scale = unary("Exp", unary("Negative", most));
  const Out is_score = op("Greater", 1, {unary("Abs", x), number_like(x, 1e-7)});
  const Out parts = select(is_score, unary("Exp", sub(x, most)), mul(x, scale)), sum = total(parts);
  return select(is_equal(sum, number_like(x, 0)), number_like(x, 0.5), div(parts, sum));
}

/// [1, n] or one value, for all rows.
Out per_feature(const NodeContext& node, const char* attribute) {
  const auto values = node.get_floats(attribute);
  if (values.empty()) fail("attribute \"" + std::string(attribute) + "\" is missing or empty");
  return reals(kReal, values);
}

OutputVector scaler(const NodeContext& node) {
  const Out x = convert(node.input(0), kReal);
  return {mul(sub(x, per_feature(node, "offset")), per_feature(node, "scale"))};
}

OutputVector normalizer(const NodeContext& node) {
  const Out x = convert(node.input(0), kReal);
  const std::string norm = node.get_string("norm", "MAX");
  Out divisor;
  if (norm == "MAX")
    divisor = greatest(x);
  else if (norm == "L1")
    divisor = total(unary("Abs", x));
  else if (norm == "L2")
    divisor = unary("Sqrt", total(mul(x, x)));
  else
    fail("norm is \"" + norm + "\", expected MAX, L1 or L2");
  return {select(is_equal(divisor, number_like(x, 0)), x, div(x, divisor))};
}

OutputVector binarizer(const NodeContext& node) {
  const Out& x = node.input(0);
  return {convert(op("Greater", 1, {x, scalar_like(x, node.get_float("threshold", 0))}), node.type(0))};
}

OutputVector imputer(const NodeContext& node) {
  const Out& x = node.input(0);
  const ElementType type = node.type(0);
  if (type == ElementType::kString) fail("input 0 holds strings, expected numbers");
  if (!info(type).is_real) {
    const Ints values = node.get_ints("imputed_value_int64s", Ints{});
    if (values.empty()) fail("imputed_value_int64s is missing, and the data holds integers");
    const Out replaced = convert(int_scalar(node.get_int("replaced_value_int64", 0)), type);
    return {select(is_equal(x, replaced), convert(ints(values), type), x)};
  }
  const auto values = node.get_floats("imputed_value_floats");
  if (values.empty()) fail("imputed_value_floats is missing, and the data holds reals");
  const double replaced = node.get_float("replaced_value_float", 0);
  const Out is_missing = std::isnan(replaced) ? op("IsNaN", 10, {x}) : is_equal(x, scalar(type, replaced));
  return {select(is_missing, reals(type, values), x)};
}

OutputVector array_feature_extractor(const NodeContext& node) {
  const Out &x = node.input(0), chosen = reshape(node.input(1), Ints{-1});
  return {op("Gather", 8, {node.rank(0) == 1 ? unsqueeze(x, {0}) : x, chosen, int_scalar(-1)}, {{"batch_dims", 0}})};
}

OutputVector feature_vectorizer(const NodeContext& node) {
  const Ints widths = node.get_ints("inputdimensions", Ints{});
  OutputVector parts;
  for (std::size_t i = 0; i < node.input_count(); ++i) {
    Out x = convert(node.input(i), kReal);
    if (node.rank(i) == 1) x = unsqueeze(x, {1});
    if (node.rank(i) > 2)
      fail("input " + std::to_string(i) + " has rank " + std::to_string(node.rank(i)) + ", expected 1 or 2");
    if (i < widths.size()) {
      if (widths[i] < 0 || widths[i] > (std::int64_t{1} << 24))
        fail("inputdimensions has " + std::to_string(widths[i]) + ", expected 0 to 2^24");
      // Features that the input lacks are 0.
      const Out zeros =
          broadcast_to(scalar(kReal, 0), concat({reshape(extent_of(x, 0), Ints{1}), ints({widths[i]})}, 0));
      x = slice(concat({x, zeros}, 1), 0, widths[i], 1);
    }
    parts.push_back(x);
  }
  if (parts.empty()) fail("has no inputs");
  return {concat(parts, 1)};
}

Out look_up(const Out& x, const Out& keys, const Out& values, const Out& fallback) {
  return op("LookUp", 1, {x, keys, values, fallback});
}

OutputVector one_hot_encoder(const NodeContext& node) {
  const Ints numbers = node.get_ints("cats_int64s", Ints{});
  const auto words = node.get_strings("cats_strings");
  if (numbers.empty() == words.empty()) fail("needs one of cats_int64s and cats_strings");
  const bool is_text = !words.empty();
  if (is_text != (node.type(0) == ElementType::kString))
    fail("input 0 has the type " + std::string(name(node.type(0))) + ", and the categories are " +
         (is_text ? "strings" : "integers"));
  const Out x = is_text ? node.input(0) : convert(node.input(0), ElementType::kI64);
  Ints places;
  for (std::size_t i = 0; i < (is_text ? words.size() : numbers.size()); ++i)
    places.push_back(static_cast<std::int64_t>(i));
  const bool refuses_others = node.get_int("zeros", 1) == 0;
  const Out place = op("LookUp", 1, {x, is_text ? texts(words) : ints(numbers), ints(places), int_scalar(-1)},
                       {{"is_complete", refuses_others}});
  if (!node.name().empty()) place.get_node()->set_friendly_name(node.name() + "/LookUp");  // Messages name it.
  return {convert(is_equal(op("Unsqueeze", 1, {place, int_scalar(-1)}), ints(places)), kReal)};
}

/// A list that an attribute gives as tensor or as list of one of three types; nothing if there is none.
std::optional<Out> given_list(const NodeContext& node, const std::string& name) {
  std::optional<Out> found;
  const auto take = [&](const std::string& attribute, const auto& make) {
    if (!node.has(attribute)) return;
    if (found) fail(name + " are given by two attributes; one is " + attribute);
    found = make(attribute);
  };
  take(name + "_tensor", [&](const auto& from) {
    return reshape(std::make_shared<op::v0::Constant>(node.get_tensor(from))->output(0), Ints{-1});
  });
  take(name + "_strings", [&](const auto& from) { return texts(node.get_strings(from)); });
  take(name + "_int64s", [&](const auto& from) { return ints(node.get_ints(from)); });
  take(name + "_floats", [&](const auto& from) { return reals(kReal, node.get_floats(from)); });
  return found;
}

OutputVector label_encoder(const NodeContext& node) {
  const std::string text = node.get_string("default_string", "_Unused");
  const std::int64_t integer = node.get_int("default_int64", -1);
  if (node.has("classes_strings")) {
    // The first version: between strings and their places.
    const auto words = node.get_strings("classes_strings");
    Ints places;
    for (std::size_t i = 0; i < words.size(); ++i) places.push_back(static_cast<std::int64_t>(i));
    if (node.type(0) == ElementType::kString)
      return {look_up(node.input(0), texts(words), ints(places), int_scalar(integer))};
    return {look_up(convert(node.input(0), ElementType::kI64), ints(places), texts(words), texts({text}))};
  }
  const auto keys = given_list(node, "keys"), values = given_list(node, "values");
  if (!keys || !values) fail("needs keys and values");
  Out fallback;
  const ElementType type = values->get_element_type();
  if (node.has("default_tensor"))
    fallback = std::make_shared<op::v0::Constant>(node.get_tensor("default_tensor"))->output(0);
  else if (type == ElementType::kString)
    fallback = texts({text});
  else
    fallback = scalar(type, info(type).is_real ? node.get_float("default_float", -0.0) : static_cast<double>(integer));
  return {look_up(node.input(0), *keys, *values, fallback)};
}

OutputVector category_mapper(const NodeContext& node) {
  const Ints numbers = node.get_ints("cats_int64s", Ints{});
  const auto words = node.get_strings("cats_strings");
  if (node.type(0) == ElementType::kString)
    return {look_up(node.input(0), texts(words), ints(numbers), int_scalar(node.get_int("default_int64", -1)))};
  return {look_up(convert(node.input(0), ElementType::kI64), ints(numbers), texts(words),
                  texts({node.get_string("default_string", "_Unused")}))};
}

// A map for each row is no tensor: its values stay one, in the order of the keys, which the node's attributes list.
OutputVector zip_map(const NodeContext& node) { return {convert(node.input(0), kReal)}; }

/// coefficients [rows, features], the rows one class or target each.
Out linear_scores(const NodeContext& node, std::size_t rows) {
  const auto coefficients = node.get_floats("coefficients"), intercepts = node.get_floats("intercepts");
  if (rows == 0 || coefficients.empty() || coefficients.size() % rows != 0)
    fail("coefficients has " + std::to_string(coefficients.size()) + " entries, which are no " + std::to_string(rows) +
         " rows, one for each class or target");
  if (!intercepts.empty() && intercepts.size() != rows)
    fail("intercepts has " + std::to_string(intercepts.size()) + " entries, expected " + std::to_string(rows));
  const Out weights = reshape(reals(kReal, coefficients), Ints{static_cast<std::int64_t>(rows), -1});
  // Features have units: a year or a price in bf16 is off by more than what is predicted.
  const Out scores = precise(matmul(convert(real_rows(node), kReal), weights, false, true));
  return intercepts.empty() ? scores : add(scores, reals(kReal, intercepts));
}

OutputVector linear_classifier(const NodeContext& node) {
  const ClassLabels labels(node, "classlabels_ints", "classlabels_strings");
  const std::size_t rows =
      node.has("intercepts") ? node.get_floats("intercepts").size() : std::max<std::size_t>(labels.count(), 1);
  const std::string transform = node.get_string("post_transform", "NONE");
  const Out scores = linear_scores(node, rows);
  if (rows == 1) {
    if (labels.count() == 2) return two_classes(labels, scores, 0, true, transform);
    if (labels.count() > 0)
      fail("one row of coefficients tells two classes apart, found " + std::to_string(labels.count()) + " labels");
    const Out is_second = op("Greater", 1, {squeeze(scores, {1}), scalar_like(scores, 0)});
    return {convert(is_second, ElementType::kI64), transformed(scores, transform)};
  }
  if (labels.count() > 0 && labels.count() != rows)
    fail("there are " + std::to_string(labels.count()) + " labels for " + std::to_string(rows) +
         " rows of coefficients");
  return {labels.of_highest(scores), transformed(scores, transform)};
}

OutputVector linear_regressor(const NodeContext& node) {
  const std::int64_t targets = node.get_int("targets", 1);
  if (targets < 1) fail("targets is " + std::to_string(targets) + ", expected at least 1");
  return {
      transformed(linear_scores(node, static_cast<std::size_t>(targets)), node.get_string("post_transform", "NONE"))};
}

}  // namespace

Out transformed(const Out& scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return unary("Sigmoid", scores);
  if (transform == "SOFTMAX") return op("Softmax", 8, {scores}, {{"axis", -1}});
  if (transform == "SOFTMAX_ZERO") return softmax_zero(scores);
  if (transform == "PROBIT") return probit(scores);
  fail("post_transform is \"" + transform + "\", expected NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT");
}

ClassLabels::ClassLabels(const NodeContext& node, const char* integers, const char* strings)
    : ints_(node.get_ints(integers, Ints{})), strings_(node.get_strings(strings)) {
  if (!ints_.empty() && !strings_.empty())
    fail("both " + std::string(integers) + " and " + strings + " are given; expected one of them");
}

Out ClassLabels::at(const Out& places) const {
  if (count() == 0) return places;
  return op("Gather", 8, {strings_.empty() ? ints(ints_) : texts(strings_), places, int_scalar(0)},
            {{"batch_dims", 0}});
}

Out ClassLabels::of_highest(const Out& scores) const {
  const auto best = ops(
      "TopK", 11, {scores, int_scalar(1)},
      {{"axis", 1}, {"mode", "max"}, {"sort", "value"}, {"stable", true}, {"index_element_type", ElementType::kI64}});
  return at(squeeze(best[1], {1}));
}

OutputVector two_classes(const ClassLabels& labels, const Out& score, double threshold, bool complement,
                         const std::string& transform) {
  const Out is_second = op("Greater", 1, {squeeze(score, {1}), scalar_like(score, threshold)});
  const Out opposite = unary("Negative", score);
  const bool is_logistic = transform == "LOGISTIC";
  const Out first = complement && !is_logistic ? add(opposite, scalar_like(score, 1)) : opposite;
  Out both = concat({first, score}, 1);
  // The softmaxes are for scores of more classes.
  if (is_logistic || transform == "PROBIT") both = transformed(both, transform);
  return {labels.at(convert(is_second, ElementType::kI64)), both};
}

Out real_rows(const NodeContext& node) {
  const ElementType type = node.type(0);
  if (type == ElementType::kString) fail("input 0 holds strings, expected numbers");
  const std::int64_t rank = node.rank(0);
  if (rank != 1 && rank != 2) fail("input 0 has rank " + std::to_string(rank) + ", expected [batch, features]");
  const Out x = type == ElementType::kF64 ? node.input(0) : convert(node.input(0), kReal);
  return rank == 1 ? unsqueeze(x, {0}) : x;
}

void add_learned(ConverterTable& table) {
  const auto add = [&](const char* type, Converter converter) { table[std::string("ai.onnx.ml:") + type] = converter; };
  add("Scaler", scaler);
  add("Normalizer", normalizer);
  add("Binarizer", binarizer);
  add("Imputer", imputer);
  add("ArrayFeatureExtractor", array_feature_extractor);
  add("FeatureVectorizer", feature_vectorizer);
  add("OneHotEncoder", one_hot_encoder);
  add("LabelEncoder", label_encoder);
  add("CategoryMapper", category_mapper);
  add("ZipMap", zip_map);
  add("LinearClassifier", linear_classifier);
  add("LinearRegressor", linear_regressor);
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
