// SPDX-License-Identifier: Apache-2.0
// Decodes CTC outputs greedily, or by a search over prefixes.
#include <tenon/vision/ctc.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <tenon/core/error.hpp>
#include <tenon/vision/internal/reading.hpp>

namespace tenon {
inline namespace v1 {
namespace vision {
namespace {

/// Logarithms of probabilities, steps x classes.
struct Steps {
  std::size_t count = 0, classes = 0;
  std::vector<double> logs;
  const double* row(std::size_t step) const { return logs.data() + step * classes; }
};

/// Leaves out steps that are damaged. A class may have the logarithm -infinity.
Steps read(const Tensor& output, std::size_t classes) {
  std::vector<float> scratch;
  const float* const values = floats(output, scratch);
  Steps steps{0, classes, {}};
  steps.logs.reserve(output.element_count());
  for (const float* row = values; row != values + output.element_count(); row += classes) {
    const double top = *std::max_element(row, row + classes);
    if (!std::isfinite(top) || std::any_of(row, row + classes, [](float value) { return std::isnan(value); })) continue;
    ++steps.count;
    double sum = 0, total = 0;
    bool are_probabilities = true;
    for (std::size_t c = 0; c < classes; ++c) {
      are_probabilities &= row[c] >= 0 && row[c] <= 1;
      sum += row[c];
    }
    are_probabilities &= std::abs(sum - 1) < 1e-2;
    if (!are_probabilities) {
      for (std::size_t c = 0; c < classes; ++c) total += std::exp(row[c] - top);
    }
    for (std::size_t c = 0; c < classes; ++c)
      steps.logs.push_back(are_probabilities ? std::log(static_cast<double>(row[c])) : row[c] - top - std::log(total));
  }
  return steps;
}

std::size_t letter(std::size_t class_id, const CtcOptions& options) { return class_id - (options.blank_first ? 1 : 0); }

CtcText greedy(const Steps& steps, std::size_t blank, const CtcOptions& options) {
  CtcText made;
  double log = 0;
  std::size_t last = blank;
  for (std::size_t t = 0; t < steps.count; ++t) {
    const double* row = steps.row(t);
    const auto best = static_cast<std::size_t>(std::max_element(row, row + steps.classes) - row);
    log += row[best];
    if (best != blank && best != last) made.text += options.alphabet[letter(best, options)];
    last = best;
  }
  made.probability = std::exp(log);
  return made;
}

double log_sum(double a, double b) {
  if (a < b) std::swap(a, b);
  return std::isinf(b) ? a : a + std::log1p(std::exp(b - a));
}

/// A prefix of a text: the summed probabilities of its paths that end with a blank, and of the others.
struct Beam {
  double blank = -std::numeric_limits<double>::infinity(), other = blank;
  double all() const { return log_sum(blank, other); }
};

CtcText by_prefixes(const Steps& steps, std::size_t blank, const CtcOptions& options) {
  using Prefix = std::vector<std::size_t>;
  std::map<Prefix, Beam> beams;
  beams[{}].blank = 0;
  std::vector<std::pair<Prefix, Beam>> kept;
  for (std::size_t t = 0; t < steps.count; ++t) {
    kept.assign(beams.begin(), beams.end());
    beams.clear();
    const double* row = steps.row(t);
    for (const auto& [prefix, beam] : kept) {
      for (std::size_t c = 0; c < steps.classes; ++c) {
        const double log = row[c];
        if (std::isinf(log)) continue;
        if (c == blank) {
          Beam& same = beams[prefix];
          same.blank = log_sum(same.blank, beam.all() + log);
          continue;
        }
        const bool repeats = !prefix.empty() && prefix.back() == c;
        if (repeats) {
          Beam& same = beams[prefix];
          same.other = log_sum(same.other, beam.other + log);
        }
        Prefix longer = prefix;
        longer.push_back(c);
        Beam& next = beams[std::move(longer)];
        next.other = log_sum(next.other, (repeats ? beam.blank : beam.all()) + log);
      }
    }
    if (beams.size() <= options.beam_width) continue;
    kept.assign(beams.begin(), beams.end());
    const auto end = kept.begin() + static_cast<std::ptrdiff_t>(options.beam_width);
    std::partial_sort(kept.begin(), end, kept.end(),
                      [](const auto& a, const auto& b) { return a.second.all() > b.second.all(); });
    beams = {kept.begin(), end};
  }
  const auto best = std::max_element(beams.begin(), beams.end(),
                                     [](const auto& a, const auto& b) { return a.second.all() < b.second.all(); });
  CtcText made;
  for (const std::size_t c : best->first) made.text += options.alphabet[letter(c, options)];
  made.probability = std::exp(best->second.all());
  return made;
}

}  // namespace

CtcText ctc_text(std::span<const Tensor> outputs, const CtcOptions& options) {
  const std::size_t classes = options.alphabet.size() + 1;
  if (options.beam_width == 0) throw Error(Code::kInvalidArgument, "decoding CTC: a beam width of 0; 1 is greedy");
  const auto fits = [&](const Tensor& output) {
    if (!is_real(output) || output.shape().size() != 3) return false;
    const Shape& shape = output.shape();
    return shape[2] == classes && (shape[0] == 1 || shape[1] == 1) && output.element_count() > 0;
  };
  const auto output = std::find_if(outputs.begin(), outputs.end(), fits);
  if (output == outputs.end())
    throw Error(Code::kInvalidArgument, "decoding CTC: no output is [steps,1," + std::to_string(classes) +
                                            "] or [1,steps," + std::to_string(classes) + "] of f32 or f16, for " +
                                            std::to_string(options.alphabet.size()) +
                                            " labels and the blank; there are:" + list_of(outputs));
  const Steps steps = read(*output, classes);
  if (steps.count == 0) return {};
  const std::size_t blank = options.blank_first ? 0 : classes - 1;
  return options.beam_width == 1 ? greedy(steps, blank, options) : by_prefixes(steps, blank, options);
}

}  // namespace vision
}  // namespace v1
}  // namespace tenon
