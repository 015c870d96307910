// SPDX-License-Identifier: Apache-2.0
// ONNX: Einsum as transposes, sums and matrix products.
#include <algorithm>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

// Axes are named by characters; those of an ellipsis by values from this one on, counted from the last.
constexpr char32_t kEllipsis = 0x100;
using Labels = std::u32string;

struct Operand {
  Out x;
  Labels labels;
  bool has(char32_t label) const { return labels.find(label) != Labels::npos; }
  std::int64_t axis(char32_t label) const { return static_cast<std::int64_t>(labels.find(label)); }
};

Labels parse_term(const std::string& text, std::int64_t ellipsis_rank) {
  Labels labels;
  bool seen = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      if (text.compare(i, 3, "...") != 0 || seen) fail("equation term \"" + text + "\" is malformed");
      seen = true;
      i += 2;
      for (std::int64_t k = ellipsis_rank; k-- > 0;) labels += kEllipsis + static_cast<char32_t>(k);
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels += static_cast<char32_t>(c);
    } else {
      fail("equation term \"" + text + "\" holds '" + std::string(1, c) + "'");
    }
  }
  return labels;
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> terms(1);
  for (char c : text) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  return terms;
}

std::int64_t letters_in(const std::string& term) {
  return std::count_if(term.begin(), term.end(), [](char c) { return c != '.' && c != ' '; });
}

// A label that occurs twice in one operand means its diagonal.
void take_diagonals(Operand& operand) {
  for (std::size_t a = 0; a < operand.labels.size(); ++a) {
    const std::size_t b = operand.labels.find(operand.labels[a], a + 1);
    if (b == Labels::npos) continue;
    const Out index =
        range(int_scalar(0), extent_of(operand.x, static_cast<std::int64_t>(a)), int_scalar(1), ElementType::kI64);
    Ints along_a(operand.labels.size(), 1), along_b(operand.labels.size(), 1);
    along_a[a] = along_b[b] = -1;
    const Out same = op("Equal", 1, {reshape(index, along_a), reshape(index, along_b)});
    const Out kept = select(same, operand.x, scalar_like(operand.x, 0));
    operand.x = reduce("ReduceSum", kept, ints({static_cast<std::int64_t>(b)}), false);
    operand.labels.erase(b, 1);
    --a;
  }
}

void sum_over(Operand& operand, const Labels& gone) {
  Ints axes;
  for (char32_t label : gone) axes.push_back(operand.axis(label));
  if (axes.empty()) return;
  operand.x = reduce("ReduceSum", operand.x, ints(axes), false);
  for (char32_t label : gone) operand.labels.erase(operand.labels.find(label), 1);
}

void arrange(Operand& operand, const Labels& order) {
  if (operand.labels == order) return;
  Ints axes;
  for (char32_t label : order) axes.push_back(operand.axis(label));
  operand.x = transpose(operand.x, axes);
  operand.labels = order;
}

// Extents of the labels, as part of a shape.
Out extents(const Operand& operand, const Labels& labels) {
  OutputVector parts;
  for (char32_t label : labels) parts.push_back(reshape(extent_of(operand.x, operand.axis(label)), Ints{1}));
  return parts.empty() ? ints({}) : concat(parts, 0);
}

// The operands' axes are either shared and kept (batch), shared and summed, or kept from one side: that is a MatMul.
Operand contract(Operand a, Operand b, const Labels& needed) {
  const auto select_labels = [](const Labels& from, auto&& wanted) {
    Labels out;
    std::copy_if(from.begin(), from.end(), std::back_inserter(out), wanted);
    return out;
  };
  const auto is_needed = [&](char32_t label) { return needed.find(label) != Labels::npos; };
  sum_over(a, select_labels(a.labels, [&](char32_t l) { return !b.has(l) && !is_needed(l); }));
  sum_over(b, select_labels(b.labels, [&](char32_t l) { return !a.has(l) && !is_needed(l); }));
  const Labels batch = select_labels(a.labels, [&](char32_t l) { return b.has(l) && is_needed(l); });
  const Labels summed = select_labels(a.labels, [&](char32_t l) { return b.has(l) && !is_needed(l); });
  const Labels left = select_labels(a.labels, [&](char32_t l) { return !b.has(l); });
  const Labels right = select_labels(b.labels, [&](char32_t l) { return !a.has(l); });
  arrange(a, batch + left + summed);
  arrange(b, batch + summed + right);
  const auto product = [&](const Operand& operand, const Labels& labels) {
    return op("ReduceProd", 1, {extents(operand, labels), ints({0})}, {{"keep_dims", true}});
  };
  // Batch extents of 1 broadcast, so each side keeps its own.
  const Out lhs = reshape(a.x, concat({extents(a, batch), product(a, left), product(a, summed)}, 0));
  const Out rhs = reshape(b.x, concat({extents(b, batch), product(b, summed), product(b, right)}, 0));
  const Out y = matmul(lhs, rhs);
  const Out lead = slice(shape_of(y), 0, static_cast<std::int64_t>(batch.size()), 0);
  return {reshape(y, concat({lead, extents(a, left), extents(b, right)}, 0)), batch + left + right};
}

Labels implicit_output(const std::vector<std::string>& terms, std::int64_t ellipsis_rank) {
  Labels out, letters;
  for (std::int64_t k = ellipsis_rank; k-- > 0;) out += kEllipsis + static_cast<char32_t>(k);
  std::string all;
  for (const std::string& term : terms) all += term;
  for (char c : all) {
    if (c != '.' && c != ' ' && std::count(all.begin(), all.end(), c) == 1) letters += static_cast<char32_t>(c);
  }
  std::sort(letters.begin(), letters.end());
  return out + letters;
}

OutputVector einsum(const NodeContext& node) {
  const std::string equation = node.get_string("equation", "");
  const auto arrow = equation.find("->");
  const std::vector<std::string> terms = split_terms(equation.substr(0, arrow));
  if (terms.size() != node.input_count()) {
    fail("equation \"" + equation + "\" has " + std::to_string(terms.size()) + " terms for " +
         std::to_string(node.input_count()) + " inputs");
  }
  std::int64_t ellipsis_rank = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].find("...") != std::string::npos)
      ellipsis_rank = std::max(ellipsis_rank, node.rank(i) - letters_in(terms[i]));
  }
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool has_ellipsis = terms[i].find("...") != std::string::npos;
    const std::int64_t own = has_ellipsis ? node.rank(i) - letters_in(terms[i]) : 0;
    Operand operand{node.input(i), parse_term(terms[i], std::max<std::int64_t>(own, 0))};
    if (static_cast<std::int64_t>(operand.labels.size()) != node.rank(i)) {
      fail("equation term \"" + terms[i] + "\" does not fit input " + std::to_string(i) + " of rank " +
           std::to_string(node.rank(i)));
    }
    take_diagonals(operand);
    operands.push_back(std::move(operand));
  }
  const Labels output = arrow == std::string::npos ? implicit_output(terms, ellipsis_rank)
                                                   : parse_term(equation.substr(arrow + 2), ellipsis_rank);
  Operand result = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    Labels needed = output;
    for (std::size_t later = i + 1; later < operands.size(); ++later) needed += operands[later].labels;
    result = contract(result, operands[i], needed);
  }
  Labels gone;
  for (char32_t label : result.labels) {
    if (output.find(label) == Labels::npos) gone += label;
  }
  sum_over(result, gone);
  for (char32_t label : output) {
    if (!result.has(label)) fail("equation \"" + equation + "\" names an output axis that no input has");
  }
  if (result.labels.size() != output.size()) fail("equation \"" + equation + "\" repeats an axis in its output");
  arrange(result, output);
  return {result.x};
}

}  // namespace

void add_einsum(ConverterTable& table) { table[":Einsum"] = einsum; }

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
