// SPDX-License-Identifier: Apache-2.0
// Fourier transforms over any axes, and of windows along a signal.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include <tenon/graph/ops/internal/kernel.hpp>
#include <tenon/graph/ops/internal/table_rows.hpp>

namespace tenon {
inline namespace v1 {

namespace {
using Complex = std::complex<double>;
using Line = std::vector<Complex>;

std::size_t smallest_factor(std::size_t n) {
  for (std::size_t factor = 2; factor * factor <= n; ++factor)
    if (n % factor == 0) return factor;
  return n;
}

/// `count` numbers `step` apart, by decimation: their cost is the sum of count times each prime factor.
void transform(const Complex* x, std::size_t step, std::size_t count, Complex* y, const Line& roots, std::size_t turn) {
  if (count == 1) {
    y[0] = x[0];
    return;
  }
  const std::size_t factor = smallest_factor(count), part = count / factor;
  for (std::size_t i = 0; i < factor; ++i)
    transform(x + i * step, step * factor, part, y + i * part, roots, turn * factor);
  Line column(factor);
  for (std::size_t k = 0; k < part; ++k) {
    for (std::size_t i = 0; i < factor; ++i) column[i] = y[i * part + k];
    for (std::size_t j = 0; j < factor; ++j) {
      Complex sum = column[0];
      for (std::size_t i = 1; i < factor; ++i) sum += column[i] * roots[turn * (i * (k + j * part) % count)];
      y[k + j * part] = sum;
    }
  }
}

/// The transform of one line; the inverse divides by the length.
class Transform {
 public:
  Transform(std::size_t count, bool inverse) : roots_(count), result_(count), inverse_(inverse) {
    for (std::size_t i = 0; i < count; ++i)
      roots_[i] =
          std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(i) / static_cast<double>(count));
  }
  void operator()(Line& line) {
    if (line.empty()) return;
    transform(line.data(), 1, line.size(), result_.data(), roots_, 1);
    if (inverse_)
      for (Complex& value : result_) value /= static_cast<double>(result_.size());
    line.swap(result_);
  }

 private:
  Line roots_, result_;
  bool inverse_;
};

/// A packed array of complex numbers.
struct Field {
  Shape shape;
  Line values;

  /// The same with another extent along an axis: cut, or filled up with zeros.
  void resize(std::size_t axis, std::size_t extent) {
    if (shape[axis] == extent) return;
    const std::size_t outer = extent_product(shape, 0, axis), inner = extent_product(shape, axis + 1, shape.size());
    const std::size_t kept = std::min(extent, shape[axis]) * inner;
    Line made(outer * extent * inner);
    for (std::size_t o = 0; o < outer; ++o)
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(o * shape[axis] * inner), kept,
                  made.begin() + static_cast<std::ptrdiff_t>(o * extent * inner));
    values = std::move(made);
    shape[axis] = extent;
  }
  template <typename F>
  void along(std::size_t axis, F f) {
    const std::size_t inner = extent_product(shape, axis + 1, shape.size()), extent = shape[axis];
    Line line(extent);
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (at / inner % extent != 0) continue;
      for (std::size_t i = 0; i < extent; ++i) line[i] = values[at + i * inner];
      f(line);
      for (std::size_t i = 0; i < extent; ++i) values[at + i * inner] = line[i];
    }
  }
};

Field read_field(const Tensor& tensor, bool is_complex) {
  Field field;
  field.shape = tensor.shape();
  const auto numbers = to_vector<double>(tensor);
  if (!is_complex) {
    field.values.assign(numbers.begin(), numbers.end());
    return field;
  }
  field.shape.pop_back();
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) field.values.emplace_back(numbers[i], numbers[i + 1]);
  return field;
}

void write_field(const Field& field, bool is_complex, Tensor& tensor) {
  std::vector<double> numbers;
  numbers.reserve(field.values.size() * 2);
  for (const Complex& value : field.values) {
    numbers.push_back(value.real());
    if (is_complex) numbers.push_back(value.imag());
  }
  if (numbers.size() != tensor.element_count())
    fail("the result has " + std::to_string(numbers.size()) + " numbers, its shape " +
         std::to_string(tensor.element_count()));
  if (!numbers.empty()) store_elements(tensor.element_type(), numbers.data(), numbers.size(), tensor.data());
}

// --- DFT, IDFT, RDFT, IRDFT: data, axes [, signal_size] ---------------------------------------------------------------

constexpr std::int64_t kMaxLength = std::int64_t{1} << 28;

std::string_view kind_of(const Node& node) { return node.get_type_info().name; }
bool reads_complex(const Node& node) { return kind_of(node) != "RDFT"; }
bool writes_complex(const Node& node) { return kind_of(node) != "IRDFT"; }

/// The axes in their order, counted without the axis of real and imaginary parts.
std::vector<std::size_t> axes_of(const std::vector<std::int64_t>& given, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (std::int64_t axis : given) {
    axes.push_back(normalized_axis(axis, rank));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) fail("axis " + std::to_string(axis) + " is given twice");
  }
  if (axes.empty()) fail("there are no axes to transform");
  return axes;
}

/// Lengths to transform; -1 keeps the axis. On IRDFT's last axis, -1 means twice the input's extent.
std::vector<std::int64_t> lengths_of(const std::vector<std::int64_t>& given, std::size_t axes) {
  if (given.empty()) return std::vector<std::int64_t>(axes, -1);
  if (given.size() != axes)
    fail("signal_size has " + std::to_string(given.size()) + " values for " + std::to_string(axes) + " axes");
  for (const std::int64_t length : given)
    if (length == 0 || length < -1 || length > kMaxLength) fail("signal_size has the value " + std::to_string(length));
  return given;
}

void infer_dft(Node& node) {
  require_real(node, 0);
  require_integral(node, 1);
  require_rank(node, 1, 1, 1);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  PartialShape shape = data;
  if (reads_complex(node)) {
    if (data.size() < 2 || !data[data.size() - 1].compatible(2))
      fail("data " + data.to_string() + ": expected rank 2 or more, and 2 as the last extent, real and imaginary");
    shape = PartialShape(std::vector<Dimension>(data.begin(), data.end() - 1));
  } else if (data.size() < 1) {
    fail("data is a scalar; it has no axis to transform");
  }
  const auto axes = known_ints(node, 1);
  const auto sizes = node.get_input_size() > 2 ? known_ints(node, 2) : std::vector<std::int64_t>{};
  if (!axes || !sizes) {
    for (auto& extent : shape) extent = Dimension::dynamic();
  } else {
    const auto order = axes_of(*axes, shape.size());
    const auto lengths = lengths_of(*sizes, order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      Dimension& extent = shape[order[i]];
      if (lengths[i] > 0) extent = lengths[i];
      const bool is_last = i + 1 == order.size();
      if (is_last && kind_of(node) == "IRDFT" && lengths[i] < 0)
        extent = extent.is_static() ? Dimension(std::max<std::int64_t>(2 * (extent.get_length() - 1), 0))
                                    : Dimension::dynamic();
      if (is_last && kind_of(node) == "RDFT")
        extent = extent.is_static() ? Dimension(extent.get_length() / 2 + 1) : Dimension::dynamic();
    }
  }
  if (writes_complex(node)) shape.push_back(2);
  set_output(node, 0, shape);
}

void evaluate_dft(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Field field = read_field(inputs[0], reads_complex(node));
  const auto axes = axes_of(to_vector<std::int64_t>(inputs[1]), field.shape.size());
  const auto lengths =
      lengths_of(inputs.size() > 2 ? to_vector<std::int64_t>(inputs[2]) : std::vector<std::int64_t>{}, axes.size());
  const bool inverse = kind_of(node) == "IDFT" || kind_of(node) == "IRDFT";
  const bool is_real_inverse = kind_of(node) == "IRDFT";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool is_last = i + 1 == axes.size();
    const std::size_t present = field.shape[axes[i]];
    std::size_t length = lengths[i] > 0 ? static_cast<std::size_t>(lengths[i]) : present;
    if (is_last && is_real_inverse) {
      if (lengths[i] < 0) length = present > 0 ? 2 * (present - 1) : 0;
      // The second half mirrors the first.
      const std::size_t half = length / 2 + 1;
      field.resize(axes[i], half);
      field.resize(axes[i], length);
      Transform one(length, true);
      field.along(axes[i], [&](Line& line) {
        for (std::size_t k = half; k < length; ++k) line[k] = std::conj(line[length - k]);
        one(line);
      });
      continue;
    }
    field.resize(axes[i], length);
    Transform one(length, inverse);
    field.along(axes[i], [&](Line& line) { one(line); });
  }
  if (kind_of(node) == "RDFT" && field.shape[axes.back()] > 0)
    field.resize(axes.back(), field.shape[axes.back()] / 2 + 1);
  write_field(field, writes_complex(node), outputs[0]);
}

// --- STFT: signal [length] or [batch, length], window, frame_size, frame_step ----------------------------------------

std::int64_t positive(const std::vector<std::int64_t>& value, const char* what) {
  if (value.size() != 1 || value[0] < 1 || value[0] > kMaxLength)
    fail(std::string(what) + " is " + (value.empty() ? std::string("missing") : std::to_string(value[0])) +
         ", expected one positive number");
  return value[0];
}

void infer_stft(Node& node) {
  require_real(node, 0);
  require_rank(node, 0, 1, 2);
  require_rank(node, 1, 1, 1);
  const PartialShape& signal = node.get_input_partial_shape(0);
  const auto size = known_ints(node, 2), step = known_ints(node, 3);
  Dimension bins, frames;
  if (size) bins = positive(*size, "frame_size") / 2 + 1;
  if (size && step && signal.rank().is_static() && signal[signal.size() - 1].is_static()) {
    const std::int64_t length = signal[signal.size() - 1].get_length();
    if (length < (*size)[0])
      fail("the signal has " + std::to_string(length) + " samples, fewer than a frame of " +
           std::to_string((*size)[0]));
    frames = (length - (*size)[0]) / positive(*step, "frame_step") + 1;
  }
  if (signal.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  PartialShape out;
  if (signal.size() == 2) out.push_back(signal[0]);
  const bool frames_last = node.get_attributes().get_bool("transpose_frames");
  out.push_back(frames_last ? bins : frames);
  out.push_back(frames_last ? frames : bins);
  out.push_back(2);
  set_output(node, 0, out);
}

/// The window in the middle of a frame.
std::vector<double> framed_window(const Tensor& tensor, std::size_t size) {
  const auto window = to_vector<double>(tensor);
  if (window.size() > size)
    fail("the window has " + std::to_string(window.size()) + " samples, more than a frame of " + std::to_string(size));
  std::vector<double> framed(size, 0);
  std::copy(window.begin(), window.end(), framed.begin() + static_cast<std::ptrdiff_t>((size - window.size()) / 2));
  return framed;
}

void evaluate_stft(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto signal = to_vector<double>(inputs[0]);
  const auto size = static_cast<std::size_t>(positive(to_vector<std::int64_t>(inputs[2]), "frame_size"));
  const auto step = static_cast<std::size_t>(positive(to_vector<std::int64_t>(inputs[3]), "frame_step"));
  const auto window = framed_window(inputs[1], size);
  const std::size_t length = inputs[0].shape().back(), batch = signal.size() / std::max<std::size_t>(length, 1);
  if (length < size)
    fail("the signal has " + std::to_string(length) + " samples, fewer than a frame of " + std::to_string(size));
  const std::size_t frames = (length - size) / step + 1, bins = size / 2 + 1;
  const bool frames_last = node.get_attributes().get_bool("transpose_frames");
  Field field{{batch, frames_last ? bins : frames, frames_last ? frames : bins}, Line(batch * frames * bins)};
  Transform one(size, false);
  Line line(size);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t f = 0; f < frames; ++f) {
      line.resize(size);
      for (std::size_t i = 0; i < size; ++i) line[i] = signal[b * length + f * step + i] * window[i];
      one(line);
      for (std::size_t k = 0; k < bins; ++k)
        field.values[b * frames * bins + (frames_last ? k * frames + f : f * bins + k)] = line[k];
    }
  }
  write_field(field, true, outputs[0]);
}

// --- ISTFT: data [bins, frames, 2] or [batch, bins, frames, 2], window, frame_size, frame_step [, signal_length] --------

void infer_istft(Node& node) {
  require_real(node, 0);
  require_rank(node, 0, 3, 4);
  require_rank(node, 1, 1, 1);
  const PartialShape& data = node.get_input_partial_shape(0);
  if (data.rank().is_dynamic()) return set_output(node, 0, PartialShape::dynamic());
  if (!data[data.size() - 1].compatible(2))
    fail("data " + data.to_string() + ": expected 2 as the last extent, real and imaginary");
  const auto size = known_ints(node, 2), step = known_ints(node, 3);
  Dimension length;
  if (node.get_input_size() > 4) {
    if (const auto given = known_ints(node, 4)) length = positive(*given, "signal_length");
  } else if (size && step && data[data.size() - 2].is_static()) {
    const std::int64_t frame = positive(*size, "frame_size");
    length = (data[data.size() - 2].get_length() - 1) * positive(*step, "frame_step") +
             (node.get_attributes().get_bool("center") ? frame % 2 : frame);
  }
  PartialShape out;
  if (data.size() == 4) out.push_back(data[0]);
  out.push_back(length);
  set_output(node, 0, out);
}

void evaluate_istft(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Field field = read_field(inputs[0], true);
  const auto size = static_cast<std::size_t>(positive(to_vector<std::int64_t>(inputs[2]), "frame_size"));
  const auto step = static_cast<std::size_t>(positive(to_vector<std::int64_t>(inputs[3]), "frame_step"));
  const auto window = framed_window(inputs[1], size);
  const std::size_t rank = field.shape.size(), frames = field.shape[rank - 1], bins = field.shape[rank - 2];
  if (bins != size / 2 + 1)
    fail("data has " + std::to_string(bins) + " frequencies, a frame of " + std::to_string(size) + " has " +
         std::to_string(size / 2 + 1));
  const std::size_t batch = rank == 3 ? field.shape[0] : 1, length = outputs[0].shape().back();
  const bool centred = node.get_attributes().get_bool("center"),
             normalized = node.get_attributes().get_bool("normalized");
  const std::size_t margin = centred ? size / 2 : 0;
  // Elements behind the signal's end are not computed.
  const std::size_t whole = frames == 0 ? 0 : std::min((frames - 1) * step + size, length + margin);
  Field made{{batch, length}, Line(batch * length)};
  Transform one(size, true);
  const double factor = normalized ? std::sqrt(static_cast<double>(size)) : 1;
  for (std::size_t b = 0; b < batch; ++b) {
    std::vector<double> sum(whole, 0), weight(whole, 0);
    Line line(size);
    for (std::size_t f = 0; f < frames; ++f) {
      for (std::size_t k = 0; k < size; ++k) {
        const std::size_t bin = std::min(k, size - k);
        const Complex value = field.values[(b * bins + bin) * frames + f];
        line[k] = k < bins ? value : std::conj(value);
      }
      one(line);
      for (std::size_t i = 0; i < size && f * step + i < whole; ++i) {
        sum[f * step + i] += line[i].real() * factor * window[i];
        weight[f * step + i] += window[i] * window[i];
      }
    }
    for (std::size_t i = 0; i < length && i + margin < whole; ++i)
      if (weight[i + margin] > 0) made.values[b * length + i] = sum[i + margin] / weight[i + margin];
  }
  write_field(made, false, outputs[0]);
}
}  // namespace

void add_signal_rows(OperationTable& table) {
  table.add("DFT", 7, 2, 3, infer_dft, evaluate_dft, "Fourier transform of complex numbers over given axes.");
  table.add("IDFT", 7, 2, 3, infer_dft, evaluate_dft, "The inverse of DFT.");
  table.add("RDFT", 9, 2, 3, infer_dft, evaluate_dft,
            "Fourier transform of real numbers: the first half of its frequencies.");
  table.add("IRDFT", 9, 2, 3, infer_dft, evaluate_dft, "The inverse of RDFT.");
  table.add("STFT", 15, 4, 4, infer_stft, evaluate_stft, "Fourier transforms of windows along a signal.")
      .flag("transpose_frames");
  table.add("ISTFT", 16, 4, 5, infer_istft, evaluate_istft, "The signal of which STFT gave these frequencies.")
      .flag("center")
      .flag("normalized");
}

}  // namespace v1
}  // namespace tenon
