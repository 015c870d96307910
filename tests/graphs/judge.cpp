// SPDX-License-Identifier: Apache-2.0
#include <tenon/tests/graphs/judge.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

#include <tenon/core/error.hpp>
#include <tenon/graph/evaluate.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::graphs {
namespace {

constexpr std::size_t kRounds = 2;       // Each with other inputs.
constexpr std::size_t kOtherShapes = 3;  // And with other shapes, for models of open ones.
// Runs of the reference with noise: few, and many before a difference counts, since noise in one place may undo that in another.
constexpr std::size_t kNoisy = 2, kManyNoisy = 16;

// -- Values

std::vector<Tensor> random_inputs(const Model& model, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<Tensor> inputs;
  for (const auto& input : model.inputs()) {
    inputs.emplace_back(ElementType::kF32, input.get_shape());
    for (std::size_t i = 0; i < inputs.back().element_count(); ++i) inputs.back().data<float>()[i] = normal(random);
  }
  return inputs;
}

double number_at(const Tensor& tensor, std::size_t i) {
  switch (tensor.element_type()) {
    case ElementType::kF32:
      return tensor.data<float>()[i];
    case ElementType::kI8:
      return tensor.data<std::int8_t>()[i];
    case ElementType::kU8:
      return tensor.data<std::uint8_t>()[i];
    default:
      throw Error(Code::kInternal, "graphs: a type that the generator does not make");
  }
}

/// The model with another number in place of one of its inputs' extents, wherever those that are open have it; null if the
/// model does not take any of those that were tried.
std::shared_ptr<Model> with_other_shapes(const Model& model, const std::vector<bool>& is_open, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> extents;
  for (std::size_t i = 0; i < is_open.size(); ++i)
    if (const Shape shape = model.get_parameters()[i]->get_output_shape(0); is_open[i])
      extents.insert(extents.end(), shape.begin(), shape.end());
  for (int tries = 0; tries < 4 && !extents.empty(); ++tries) {
    const std::size_t from = extents[random() % extents.size()], to = 1 + random() % 12;
    std::map<std::size_t, PartialShape> shapes;
    for (std::size_t i = 0; i < is_open.size(); ++i) {
      Shape shape = model.get_parameters()[i]->get_output_shape(0);
      if (is_open[i]) std::replace(shape.begin(), shape.end(), from, to);
      shapes[i] = PartialShape(shape);
    }
    try {
      auto other = model.clone();
      other->reshape(shapes);
      // Reshape nodes that state the batch were changed; an open model has them as they are.
      if (other->get_ordered_ops().size() != model.get_ordered_ops().size()) continue;
      evaluate(*other, random_inputs(*other, seed));
      return other;
    } catch (const Error&) {
      // Constants, indices or attributes want the extent that was there.
    }
  }
  return nullptr;
}

/// Memory of the same type and shape with a gap after each row, filled with the same.
Tensor with_gaps(const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  if (shape.empty() || tensor.element_count() == 0) return tensor;
  Shape wide = shape;
  wide.back() += 3;
  Tensor memory(tensor.element_type(), wide);
  std::memset(memory.data(), 0x5a, memory.size_bytes());
  const Tensor view = memory.slice(Shape(shape.size(), 0), shape);
  copy_strided(tensor.element_type(), shape, tensor.data(), tensor.byte_strides(), view.data(), view.byte_strides());
  return view;
}

}  // namespace

bool is_open_input(std::size_t input) { return input % 2 == 0; }

std::shared_ptr<Model> with_open_inputs(const Model& model) {
  auto open = model.clone();
  std::map<std::size_t, PartialShape> shapes;
  for (std::size_t i = 0; i < open->get_parameters().size(); ++i) {
    std::vector<Dimension> extents;
    for (const std::size_t extent : open->get_parameters()[i]->get_output_shape(0))
      extents.emplace_back(is_open_input(i) ? Dimension::dynamic() : Dimension(static_cast<std::int64_t>(extent)));
    shapes[i] = PartialShape(extents);
  }
  try {
    open->reshape(shapes);
  } catch (const Error&) {
    return nullptr;
  }
  return open;
}

namespace {

// -- How far off

/// The effect of rounding: small everywhere; a whole step in places where the graph rounds to numbers.
class Noise {
 public:
  Noise(double relative, unsigned seed) : relative_(relative), random_(seed) {}

  void on(const Node& node, const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
    const std::string_view type = node.get_type_name();
    for (Tensor& output : outputs) {
      if (output.element_type() != ElementType::kF32) continue;
      float* values = output.data<float>();
      const std::size_t count = output.element_count();
      float largest = 0;
      for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(values[i]));
      const double size = relative_ * largest;
      const double step = type == "Round" ? 1 : type == "FakeQuantize" ? step_of(node, inputs) : 0;
      std::uniform_real_distribution<double> uniform(-1, 1);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] += static_cast<float>(size * uniform(random_));
        if (step > 0 && (count < 64 || random_() % 8 == 0))
          values[i] += static_cast<float>(random_() % 2 ? step : -step);
      }
    }
  }

  /// Inputs as they are when an operation reads them in the type that is computed in.
  std::vector<Tensor> rounded(const std::vector<Tensor>& inputs) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Tensor> result;
    for (const Tensor& input : inputs) {
      Tensor copy(input.element_type(), input.shape());
      input.copy_to(copy);
      if (copy.element_type() == ElementType::kF32)
        for (std::size_t i = 0; i < copy.element_count(); ++i)
          copy.data<float>()[i] *= static_cast<float>(1 + relative_ * uniform(random_));
      result.push_back(std::move(copy));
    }
    return result;
  }

 private:
  /// The largest distance between levels.
  static double step_of(const Node& node, const std::vector<Tensor>& inputs) {
    double range = 0;
    for (std::size_t i = 0; i < inputs[3].element_count(); ++i)
      range = std::max(range, number_at(inputs[4], i) - number_at(inputs[3], i));
    return range / static_cast<double>(node.get_attributes().get_int("levels") - 1);
  }

  double relative_;
  std::mt19937 random_;
};

bool only_moves(const Node& node) {
  static constexpr std::string_view kTypes[] = {"Reshape", "Squeeze",       "Unsqueeze", "Transpose", "Slice",
                                                "Split",   "VariadicSplit", "Concat",    "Gather",    "StridedSlice",
                                                "Convert", "Tile",          "Broadcast"};
  return std::find(std::begin(kTypes), std::end(kTypes), node.get_type_name()) != std::end(kTypes);
}

std::vector<Tensor> evaluate_with_noise(const Model& model, const std::vector<Tensor>& inputs, VariableMap* variables,
                                        Noise& noise) {
  return evaluate(model, inputs, variables, {},
                  [&](const Node& node, const std::vector<Tensor>& arguments, std::vector<Tensor>& outputs) {
                    if (only_moves(node)) return false;
                    if (const auto* outer = as_type<op::util::MultiSubGraphOp>(&node)) {
                      outputs = run_subgraph(*outer, arguments, [&](std::size_t body, const auto& values) {
                        return evaluate_with_noise(*outer->get_function(body), values, nullptr, noise);
                      });
                      return true;
                    }
                    outputs = evaluate_node(node, arguments);
                    noise.on(node, arguments, outputs);
                    return true;
                  });
}

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    if (const double value = std::abs(number_at(tensor, i)); std::isfinite(value)) largest = std::max(largest, value);
  return largest;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.element_count(); ++i) {
    const double difference = std::abs(number_at(a, i) - number_at(b, i));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

/// The difference of `got` in words; nothing if it is within the limit.
std::string difference(const Tensor& wanted, const Tensor& got, double limit) {
  if (wanted.element_type() != got.element_type() || wanted.shape() != got.shape())
    return "wanted " + to_string(wanted) + ", got " + to_string(got);
  Tensor packed;
  got.copy_to(packed);
  std::size_t wrong = 0;
  std::ostringstream text;
  for (std::size_t i = 0; i < wanted.element_count(); ++i) {
    const double w = number_at(wanted, i), g = number_at(packed, i);
    if (!std::isfinite(w) || std::abs(w - g) <= limit) continue;
    if (wrong++ == 0) text << "element " << i << ": wanted " << w << ", got " << g << " (limit " << limit << ")";
  }
  if (wrong) text << "; " << wrong << " of " << wanted.element_count() << " are off";
  return text.str();
}

double relative_noise(const Case& what) { return what.options.precision == ElementType::kBf16 ? 1.0 / 256 : 1e-6; }

// -- Running

Bound bind(const Case& what, bool shares_memory, const std::vector<Tensor>& inputs, const std::vector<Tensor>& wanted) {
  Bound bound;
  for (const Tensor& input : inputs) {
    Tensor own;
    input.copy_to(own);
    bound.inputs.push_back(what.is_strided ? with_gaps(own) : own);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Tensor own(wanted[i].element_type(), wanted[i].shape());
    std::memset(own.data(), 0xff, own.size_bytes());
    if (what.is_strided && i % 2 == 0) own = with_gaps(own);
    if (shares_memory)
      for (std::size_t k = 0; k < inputs.size() && i < inputs.size(); ++k) {
        // Not the output's own index, so that inputs are copied to other places.
        const Tensor& input = bound.inputs[(i + k + 1) % inputs.size()];
        const bool taken = std::any_of(bound.outputs.begin(), bound.outputs.end(),
                                       [&](const Tensor& output) { return output.data() == input.data(); });
        if (!taken && input.element_type() == own.element_type() && input.shape() == own.shape()) {
          own = input;
          break;
        }
      }
    bound.outputs.push_back(own);
  }
  return bound;
}

}  // namespace

std::string Case::text() const {
  return std::string("precision ") + std::string(name(options.precision)) + ", " + std::to_string(options.threads) +
         " thread(s)" + (options.fuse ? "" : ", not fused") + (options.blocked_layouts ? "" : ", packed layouts") +
         (is_quantized ? ", quantized" : "") + (is_dynamic ? ", dynamic" : "") +
         (shares_memory ? ", outputs over inputs" : "") + (is_strided ? ", strided" : "") + "\n" + text_of(*model);
}

Case random_case(Choices& choices) {
  Case what;
  Wishes wishes;
  wishes.quantized = what.is_quantized = choices.once_in(3);
  what.options.threads = choices.once_in(2) ? 2 : 1;
  if (choices.once_in(3) && engine::has_native_bf16()) what.options.precision = ElementType::kBf16;
  what.is_dynamic = choices.once_in(6);
  what.options.blocked_layouts = !choices.once_in(6);
  what.shares_memory = choices.once_in(5);
  what.is_strided = choices.once_in(8);
  wishes.states = !what.is_dynamic && choices.once_in(5);
  wishes.nodes = choices.between(2, 14);
  what.model = random_model(choices, wishes);
  return what;
}

namespace {
Verdict judge(const Case& what, const MakeSubject& make, std::size_t noisy_runs) {
  Verdict verdict;
  const double relative = relative_noise(what);
  try {
    const auto subject = make(what);
    verdict.kernels = subject->kernels();
    VariableMap state;
    std::vector<VariableMap> noisy_state(noisy_runs);
    const std::vector<bool> open = subject->open_inputs();
    for (unsigned round = 0; round < kRounds + (open.empty() ? 0 : kOtherShapes); ++round) {
      const auto model = round < kRounds ? what.model : with_other_shapes(*what.model, open, round);
      if (!model) continue;
      const auto inputs = random_inputs(*model, 7 * round + 1);
      const auto wanted = evaluate(*model, inputs, &state);
      std::vector<double> moved(wanted.size(), 0);
      for (std::size_t k = 0; k < noisy_runs; ++k) {
        Noise noise(relative, static_cast<unsigned>(31 * round + k));
        const auto noisy = evaluate_with_noise(*model, noise.rounded(inputs), &noisy_state[k], noise);
        for (std::size_t i = 0; i < wanted.size(); ++i)
          moved[i] = std::max(moved[i], largest_difference(wanted[i], noisy[i]));
      }
      Bound bound = bind(what, what.shares_memory && subject->can_share_memory(), inputs, wanted);
      subject->run(bound);
      verdict.failure = subject->fault_of_steps(*model);
      if (!verdict.failure.empty()) return verdict;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double largest = largest_of(wanted[i]);
        const bool is_real = wanted[i].element_type() == ElementType::kF32;
        const double limit = 4 * moved[i] + (is_real ? 1e-5 + relative * (4 * largest + 0.2) : 1);
        ++verdict.outputs;
        verdict.blind += limit > 0.5 * largest;
        const std::string wrong = difference(wanted[i], bound.outputs[i], limit);
        if (wrong.empty()) continue;
        verdict.failure = "round " + std::to_string(round) + ", output " + std::to_string(i) + " (" +
                          what.model->get_results()[i]->get_input_node_ptr(0)->get_friendly_name() + "): " + wrong;
        return verdict;
      }
    }
    verdict.relowered = subject->relowered();
  } catch (const Refused&) {
    verdict.is_refused = true;
  } catch (const std::exception& error) {
    verdict.failure = std::string("threw ") + error.what();
  }
  return verdict;
}
}  // namespace

Verdict judge(const Case& what, const MakeSubject& make) {
  Verdict verdict = judge(what, make, kNoisy);
  return verdict.failure.empty() ? verdict : judge(what, make, kManyNoisy);
}

std::vector<std::uint8_t> shrink(std::vector<std::uint8_t> bytes, const MakeSubject& make) {
  const auto fails = [&](const std::vector<std::uint8_t>& some) {
    Choices choices(some);
    return !judge(random_case(choices), make).failure.empty();
  };
  int tries = 600;
  for (std::size_t size = std::max<std::size_t>(bytes.size() / 2, 1); size > 0 && tries > 0; size /= 2) {
    for (std::size_t at = 0; at < bytes.size() && tries > 0; --tries) {
      const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, bytes.size()));
      std::vector<std::uint8_t> less(bytes.begin(), begin), zeroed = bytes;
      less.insert(less.end(), end, bytes.end());
      std::fill(zeroed.begin() + (begin - bytes.begin()), zeroed.begin() + (end - bytes.begin()), std::uint8_t{0});
      if (fails(less)) {
        bytes = less;
        continue;
      }
      if (zeroed != bytes && fails(zeroed)) bytes = zeroed;
      at += size;
    }
  }
  return bytes;
}

std::string report(const std::vector<std::uint8_t>& bytes, const MakeSubject& make) {
  Choices choices(bytes);
  const Case what = random_case(choices);
  return judge(what, make).failure + "\nTENON_GRAPHS_BYTES=" + to_hex(bytes) + "\n" + what.text();
}

std::string to_hex(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<std::uint8_t> from_hex(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

}  // namespace tenon::graphs
