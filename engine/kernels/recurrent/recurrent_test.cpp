// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent layers against the same in f64: kinds, directions, rows, widths around a panel's, both types of weights, threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <tenon/engine/kernels/recurrent/recurrent.hpp>
#include <tenon/engine/kernels/simd/bf16.hpp>
#include <tenon/engine/testing/instruction_sets.hpp>

namespace tenon::engine_test {
namespace recurrent_test {

using engine::kernels::Recurrent;
using Kind = Recurrent::Kind;

std::vector<float> numbers(std::size_t count, unsigned seed, float size) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, size);
  std::vector<float> all(count);
  for (float& one : all) one = normal(random);
  return all;
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Layer {
 public:
  explicit Layer(const Recurrent& what)
      : what_(what),
        sums_(numbers(what.batch * what.steps * what.columns(), 1, 1)),
        first_(numbers(what.batch * what.directions * what.hidden, 2, 1)),
        cell_(numbers(first_.size(), 3, 1)),
        weights_(numbers(what.columns() * what.panel_rows() * what.together(), 4,
                         1 / std::sqrt(static_cast<float>(what.hidden)))),
        bias_(numbers(what.directions * what.panels() * Recurrent::kPanelUnits, 5, 1)),
        all_(first_.size() * what.steps, NAN),
        last_(first_.size(), NAN),
        last_cell_(first_.size(), NAN) {
    for (float& weight : weights_) {
      const engine::kernels::Bf16 rounded(weight);
      short_weights_.push_back(rounded.bits);
      if (what.weights == ElementType::kBf16) weight = rounded.to_float();
    }
    for (std::size_t column = 0; column < what.columns(); ++column)
      for (std::size_t k = 0; k < what.hidden; ++k) rows_.push_back(weights_[what.place(column, k)]);
  }
  void run(std::size_t threads) {
    for (auto* const out : {&all_, &last_, &last_cell_}) std::fill(out->begin(), out->end(), NAN);
    const bool is_lstm = what_.kind == Kind::kLstm;
    const void* weights =
        what_.weights == ElementType::kBf16 ? static_cast<const void*>(short_weights_.data()) : weights_.data();
    tbb::task_arena arena(static_cast<int>(threads));
    arena.execute([&] {
      engine::kernels::run_recurrent(what_,
                                     {sums_.data(), first_.data(), is_lstm ? cell_.data() : nullptr, weights,
                                      bias_.data(), all_.data(), last_.data(), is_lstm ? last_cell_.data() : nullptr},
                                     threads);
    });
  }
  /// Whether the last run gave what the sums in f64 give, which are made once.
  void judge() {
    if (wanted_.empty())
      for (std::size_t b = 0; b < what_.batch; ++b)
        for (std::size_t d = 0; d < what_.directions; ++d) sum_up(b, d);
    const std::size_t states = first_.size() * what_.steps;
    const bool is_lstm = what_.kind == Kind::kLstm;
    for (std::size_t i = 0; i < states; ++i)
      ASSERT_NEAR(all_[i], wanted_[i], 2e-6)
          << "step " << i / what_.hidden % what_.steps << " unit " << i % what_.hidden;
    for (std::size_t i = 0; i < last_.size(); ++i) {
      ASSERT_NEAR(last_[i], wanted_last_[i], 2e-6);
      if (is_lstm) {
        ASSERT_NEAR(last_cell_[i], wanted_cell_[i], 4e-6);
      }
    }
  }

 private:
  void sum_up(std::size_t b, std::size_t d) {
    const std::size_t hidden = what_.hidden, state = (b * what_.directions + d) * hidden;
    std::vector<double> h(&first_[state], &first_[state] + hidden), c(&cell_[state], &cell_[state] + hidden);
    wanted_.resize((state + hidden) * what_.steps);  // States follow each other.
    for (std::size_t done = 0; done < what_.steps; ++done) {
      const std::size_t time = d == 1 || what_.is_reverse ? what_.steps - 1 - done : done;
      step(b, d, time, h, c);
      std::copy(h.begin(), h.end(), &wanted_[state * what_.steps + time * hidden]);
    }
    wanted_last_.insert(wanted_last_.end(), h.begin(), h.end());
    wanted_cell_.insert(wanted_cell_.end(), c.begin(), c.end());
  }
  void step(std::size_t b, std::size_t d, std::size_t time, std::vector<double>& h, std::vector<double>& c) const {
    const std::size_t panels = what_.panels(), columns = what_.panel_columns(), each = Recurrent::kPanelUnits;
    const std::vector<double> before = h;
    for (std::size_t unit = 0; unit < what_.hidden; ++unit) {
      const std::size_t panel = d * panels + unit / each;
      const auto column = [&](std::size_t gate) { return gate * each + unit % each; };
      const auto given = [&](std::size_t gate) -> double {
        return sums_[((b * what_.steps + time) * what_.directions * panels + panel) * columns + column(gate)];
      };
      const auto made = [&](std::size_t gate) {
        const double *const of = &rows_[(panel * columns + column(gate)) * what_.hidden], *const state = before.data();
        double sum = 0;
        for (std::size_t k = 0; k < what_.hidden; ++k) sum += state[k] * of[k];
        return sum;
      };
      const auto sum = [&](std::size_t gate) { return made(gate) + given(gate); };
      switch (what_.kind) {
        case Kind::kTanh:
          h[unit] = std::tanh(sum(0));
          break;
        case Kind::kRelu:
          h[unit] = std::max(sum(0), 0.0);
          break;
        case Kind::kSigmoid:
          h[unit] = sigmoid(sum(0));
          break;
        case Kind::kGru: {
          const double keep = sigmoid(sum(0)),
                       next = std::tanh(given(2) + sigmoid(sum(1)) * (made(2) + bias_[panel * each + unit % each]));
          h[unit] = (1 - keep) * next + keep * before[unit];
          break;
        }
        case Kind::kLstm:
          c[unit] = sigmoid(sum(0)) * c[unit] + sigmoid(sum(1)) * std::tanh(sum(2));
          h[unit] = sigmoid(sum(3)) * std::tanh(c[unit]);
          break;
      }
    }
  }

  Recurrent what_;
  std::vector<float> sums_, first_, cell_, weights_, bias_, all_, last_, last_cell_;
  std::vector<std::uint16_t> short_weights_;
  std::vector<double> rows_, wanted_, wanted_last_, wanted_cell_;  // The weights by column, and what is right.
};

TEST(RecurrentSteps, AgreeWithTheSameInF64) {
  for (const Kind kind : {Kind::kTanh, Kind::kRelu, Kind::kSigmoid, Kind::kGru, Kind::kLstm})
    for (const ElementType weights : {ElementType::kF32, ElementType::kBf16})
      for (const std::size_t hidden : {1, 7, 16, 24, 50, 129})
        for (const std::size_t batch : {1, 2, 3, 8}) {
          SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + ", hidden " + std::to_string(hidden) + ", batch " +
                       std::to_string(batch));
          Layer both({kind, false, weights, 2, batch, 3, hidden}), reverse({kind, true, weights, 1, batch, 2, hidden});
          for_each_instruction_set([&] {
            for (Layer* const layer : {&both, &reverse}) {
              layer->run(1);
              layer->judge();
            }
          });
          if (testing::Test::HasFailure()) return;
        }
}

TEST(RecurrentSteps, AreTheSameInSeveralThreads) {
  // Directions at once, in parts; the same with a part for each; one direction; too small for more than a thread.
  for (const Recurrent& what : {Recurrent{Kind::kLstm, false, ElementType::kF32, 2, 1, 40, 200},
                                Recurrent{Kind::kGru, false, ElementType::kBf16, 2, 2, 60, 70},
                                Recurrent{Kind::kLstm, true, ElementType::kF32, 1, 1, 40, 200},
                                Recurrent{Kind::kTanh, false, ElementType::kF32, 2, 1, 5, 40}}) {
    Layer layer(what);
    for (const std::size_t threads : {2, 3, 5})
      for (int again = 0; again < 5; ++again) {
        layer.run(threads);
        layer.judge();
      }
  }
}

}  // namespace recurrent_test
}  // namespace tenon::engine_test
