// SPDX-License-Identifier: Apache-2.0
// ONNX: features of audio and text, and determinants, expanded into standard operations.
#include <algorithm>
#include <unordered_map>

#include <tenon/graph/readers/onnx/internal/onnx.hpp>

namespace tenon {
inline namespace v1 {
namespace onnx_reader {

namespace {

Out counted(const Out& count) { return range(int_scalar(0), count, int_scalar(1), ElementType::kI64); }

Out both(const Out& a, const Out& b) { return op("LogicalAnd", 1, {a, b}); }

// num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz: triangles between points that are evenly
// spaced on the scale 2595 * log10(1 + hertz / 700).
OutputVector mel_weight_matrix(const NodeContext& node) {
  const ElementType type = node.has("output_datatype") ? node.get_type("output_datatype") : ElementType::kF32;
  constexpr ElementType kReal = ElementType::kF64;
  const auto number = [](double value) { return scalar(kReal, value); };
  const auto whole = [&](std::size_t index) { return convert(reshape(node.input(index), Ints{}), ElementType::kI64); };
  const auto real = [&](const Out& x) { return convert(x, kReal); };
  const Out bins = whole(0), length = whole(1), rate = whole(2);
  const double log_10 = 2.302585092994046;
  const auto mel = [&](std::size_t index) {
    const Out hertz = real(reshape(node.input(index), Ints{}));
    return mul(unary("Log", add(number(1), div(hertz, number(700)))), number(2595 / log_10));
  };
  const Out low = mel(3), points = add(bins, int_scalar(2));
  const Out step = div(sub(mel(4), low), real(points));
  const Out mels = add(mul(real(counted(points)), step), low);
  const Out hertz = mul(sub(unary("Exp", mul(mels, number(log_10 / 2595))), number(1)), number(700));
  const Out place =
      convert(unary("Floor", div(mul(real(add(length, int_scalar(1))), hertz), real(rate))), ElementType::kI64);
  const auto edges = [&](std::int64_t first) {
    const Out index = add(counted(bins), int_scalar(first));
    return unsqueeze(op("Gather", 8, {place, index, int_scalar(0)}, {{"batch_dims", 0}}), {0});
  };
  const Out left = edges(0), centre = edges(1), right = edges(2);
  const Out at = unsqueeze(counted(add(div(length, int_scalar(2)), int_scalar(1))), {1});
  const auto at_least = [](const Out& a, const Out& b) { return op("GreaterEqual", 1, {a, b}); };
  const auto ratio = [&](const Out& part, const Out& all) {
    return div(real(part), op("Maximum", 1, {real(all), number(1)}));
  };
  const Out rises = both(at_least(at, left), at_least(centre, at)), is_peak = op("Equal", 1, {at, centre});
  const Out falls = both(at_least(at, centre), op("Less", 1, {at, right}));
  const Out rising = select(is_peak, number(1), select(rises, ratio(sub(at, left), sub(centre, left)), number(0)));
  return {convert(select(falls, ratio(sub(right, at), sub(right, centre)), rising), type)};
}

// Counts of n-grams with gaps of up to max_skip_count, in the columns that ngram_indexes names.
OutputVector tf_idf_vectorizer(const NodeContext& node) {
  Ints pool = node.get_ints("pool_int64s", Ints{});
  const Ints starts = node.get_ints("ngram_counts"), columns = node.get_ints("ngram_indexes");
  const std::vector<std::string> words = node.get_strings("pool_strings");
  if (words.empty() == pool.empty()) fail("needs one of pool_int64s and pool_strings");
  const bool is_text = node.type(0) == ElementType::kString;
  if (is_text == words.empty())
    fail("input 0 has the type " + std::string(name(node.type(0))) + ", and the pool holds " +
         (is_text ? "integers" : "strings"));
  const std::int64_t shortest = node.get_int("min_gram_length"), longest = node.get_int("max_gram_length"),
                     skips = node.get_int("max_skip_count");
  const std::string mode = node.get_string("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") fail("mode is \"" + mode + "\", expected TF, IDF or TFIDF");
  if (shortest < 1 || longest < shortest || longest > static_cast<std::int64_t>(starts.size()) || skips < 0 ||
      columns.empty())
    fail("n-grams of " + std::to_string(shortest) + " to " + std::to_string(longest) + " with " +
         std::to_string(skips) + " skips do not fit ngram_counts");
  const std::int64_t rank = node.rank(0);
  if (rank != 1 && rank != 2) fail("input 0 has rank " + std::to_string(rank) + ", expected 1 or 2");
  Out x = rank == 1 ? unsqueeze(node.input(0), {0}) : node.input(0);
  if (is_text) {
    // Words become their first places in the pool; others are in no n-gram.
    std::unordered_map<std::string_view, std::int64_t> places;
    std::vector<std::string> distinct;
    Ints numbers;
    for (const std::string& word : words) {
      const auto [found, is_new] = places.emplace(word, static_cast<std::int64_t>(pool.size()));
      pool.push_back(found->second);
      if (!is_new) continue;
      distinct.push_back(word);
      numbers.push_back(found->second);
    }
    x = op("LookUp", 1, {x, texts(distinct), ints(numbers), int_scalar(-1)});
  }
  x = convert(x, ElementType::kI64);
  OutputVector counts;     // [batch, n-grams] each
  Ints column_of;          // of each n-gram counted
  std::int64_t first = 0;  // n-grams before this length
  for (std::int64_t n = 1; n <= longest; ++n) {
    const std::int64_t begin = starts[static_cast<std::size_t>(n - 1)];
    const std::int64_t end = n < static_cast<std::int64_t>(starts.size()) ? starts[static_cast<std::size_t>(n)]
                                                                          : static_cast<std::int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(pool.size()) || (end - begin) % n != 0)
      fail("ngram_counts gives " + std::to_string(begin) + " to " + std::to_string(end) + " as the n-grams of length " +
           std::to_string(n));
    const std::int64_t grams = (end - begin) / n;
    if (first + grams > static_cast<std::int64_t>(columns.size()))
      fail("ngram_indexes has " + std::to_string(columns.size()) + " entries, fewer than there are n-grams");
    if (n >= shortest && grams > 0) {
      Out total;
      for (std::int64_t skip = 0; skip <= (n == 1 ? 0 : skips); ++skip) {
        const std::int64_t step = skip + 1;
        const Out windows = op("Maximum", 1, {sub(extent_of(x, 1), int_scalar((n - 1) * step)), int_scalar(0)});
        Out same;
        for (std::int64_t t = 0; t < n; ++t) {
          Ints letters;
          for (std::int64_t g = 0; g < grams; ++g) letters.push_back(pool[static_cast<std::size_t>(begin + g * n + t)]);
          const Out at = add(counted(windows), int_scalar(t * step));
          const Out found = op("Gather", 8, {x, at, int_scalar(1)}, {{"batch_dims", 0}});
          const Out equal = op("Equal", 1, {unsqueeze(found, {2}), reshape(ints(letters), Ints{1, 1, -1})});
          same = same ? both(same, equal) : equal;
        }
        const Out count = reduce("ReduceSum", convert(same, ElementType::kF32), ints({1}), false);
        total = total ? add(total, count) : count;
      }
      counts.push_back(total);
      column_of.insert(column_of.end(), columns.begin() + first, columns.begin() + first + grams);
    }
    first += grams;
  }
  const std::int64_t width = *std::max_element(columns.begin(), columns.end()) + 1;
  if (*std::min_element(columns.begin(), columns.end()) < 0 || width > (std::int64_t{1} << 24))
    fail("ngram_indexes has values outside of 0 to 2^24");
  // Columns that no n-gram has read a column of zeros behind all others.
  Ints source(static_cast<std::size_t>(width), static_cast<std::int64_t>(column_of.size()));
  for (std::size_t i = 0; i < column_of.size(); ++i)
    source[static_cast<std::size_t>(column_of[i])] = static_cast<std::int64_t>(i);
  counts.push_back(
      broadcast_to(scalar(ElementType::kF32, 0), concat({reshape(extent_of(x, 0), Ints{1}), ints({1})}, 0)));
  Out y = op("Gather", 8, {concat(counts, 1), ints(source), int_scalar(1)}, {{"batch_dims", 0}});
  if (mode != "TF") {
    const std::vector<double> given = node.get_floats("weights");
    if (!given.empty() && given.size() != columns.size())
      fail("weights has " + std::to_string(given.size()) + " entries, expected " + std::to_string(columns.size()));
    std::vector<double> weights(static_cast<std::size_t>(width), 1);
    for (std::size_t i = 0; i < given.size(); ++i) weights[static_cast<std::size_t>(columns[i])] = given[i];
    if (mode == "IDF") y = op("Minimum", 1, {y, scalar(ElementType::kF32, 1)});
    y = mul(y, reals(ElementType::kF32, weights));
  }
  return {rank == 1 ? squeeze(y, {0}) : y};
}

/// The determinant of the rows from `row` on and of the columns left, [...]: by the first row.
Out determinant(const std::vector<std::vector<Out>>& cells, std::size_t row, const std::vector<std::size_t>& columns) {
  if (columns.size() == 1) return cells[row][columns[0]];
  Out sum;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    std::vector<std::size_t> rest = columns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Out part = mul(cells[row][columns[i]], determinant(cells, row + 1, rest));
    sum = !sum ? part : i % 2 == 0 ? add(sum, part) : sub(sum, part);
  }
  return sum;
}

OutputVector det(const NodeContext& node) {
  const Out& x = node.input(0);
  const std::int64_t rank = node.rank(0);
  const PartialShape& shape = x.get_partial_shape();
  const Dimension size = rank < 2 ? Dimension(0) : shape[static_cast<std::size_t>(rank - 1)];
  if (rank < 2 || !size.compatible(shape[static_cast<std::size_t>(rank - 2)]))
    fail("input 0 has the shape " + shape.to_string() + ", expected square matrices");
  // Minors grow like the factorial.
  if (size.is_dynamic() || size.get_length() < 1 || size.get_length() > 4)
    unimplemented("matrices of " + size.to_string() + " rows; those of 1 to 4 are written out");
  const std::int64_t n = size.get_length();
  std::vector<std::vector<Out>> cells;
  std::vector<std::size_t> columns;
  for (std::int64_t row = 0; row < n; ++row) {
    columns.push_back(static_cast<std::size_t>(row));
    const Out line = squeeze(slice(x, row, row + 1, rank - 2), {rank - 2});
    cells.emplace_back();
    for (std::int64_t column = 0; column < n; ++column)
      cells.back().push_back(squeeze(slice(line, column, column + 1, rank - 2), {rank - 2}));
  }
  return {determinant(cells, 0, columns)};
}

}  // namespace

void add_features(ConverterTable& table) {
  table[":MelWeightMatrix"] = mel_weight_matrix;
  table[":TfIdfVectorizer"] = tf_idf_vectorizer;
  table[":Det"] = det;
}

}  // namespace onnx_reader
}  // namespace v1
}  // namespace tenon
