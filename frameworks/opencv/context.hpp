// SPDX-License-Identifier: Apache-2.0
// OpenCV as a Tenon context: cv::Mat's memory, and the edges between it and host memory.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencv/layout.hpp>

namespace tenon {
inline namespace v1 {
namespace opencv {

/// Bytes of a cv::Mat, or host memory as seen by cv::Mat.
inline constexpr MemoryKind kMatMemory{"opencv.mat"};

inline Context context();

/// The whole allocation behind a cv::Mat, even if the Mat is a region of it. Shares the Mat's reference count, so the
/// bytes live as long as this. A Mat over user data owns nothing: the user keeps those bytes. Has no identity, because
/// OpenCV recycles buffers without notice; each wrapping is new.
class MatMemory final : public Memory {
 public:
  static Ref<MatMemory> over(const cv::Mat& mat, bool read_only) {
    return over(mat, read_only, 0, static_cast<std::size_t>(mat.datalimit - mat.datastart));
  }
  /// Over a part of the Mat's allocation.
  /// @param skip  Bytes at its start to leave out (alignment).
  static Ref<MatMemory> over(const cv::Mat& mat, bool read_only, std::size_t skip, std::size_t size_bytes) {
    Properties properties;
    properties.size_bytes = size_bytes;
    properties.host = const_cast<uchar*>(mat.datastart) + skip;
    properties.read_only = read_only;
    return Ref<MatMemory>(new MatMemory(properties, mat));
  }
  ~MatMemory() override { drop_views(); }  // Before the Mat releases the bytes that they refer to.

  /// The Mat as passed in: a region stays a region.
  const cv::Mat& mat() const { return mat_; }

 private:
  MatMemory(const Properties& properties, const cv::Mat& mat)
      : Memory(opencv::context(), kMatMemory, properties), mat_(mat) {}

  cv::Mat mat_;
};

namespace detail {

inline constexpr const char* kTiled =
    "its pixels are tiled (a DRM modifier), and OpenCV knows rows only: convert it on the device that made it";

/// Host memory as seen by cv::Mat; mat() makes the header.
class CpuToMat final : public HostEdge {
 public:
  std::string_view name() const override { return "cpu->opencv.mat"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kMatMemory; }

 private:
  std::optional<Refusal> refuses(const Description& from) const override {
    auto layout = lay_out(from.info);
    if (auto* refusal = std::get_if<Refusal>(&layout)) return *refusal;
    return std::nullopt;
  }
};

/// A cv::Mat's bytes are host memory.
class MatToCpu final : public HostEdge {
 public:
  std::string_view name() const override { return "opencv.mat->cpu"; }
  MemoryKind from() const override { return kMatMemory; }
  MemoryKind to() const override { return kCpuMemory; }
};

/// A tensor's bytes as u8, even if its element type has no depth.
inline TensorInfo as_bytes(const Tensor& tensor) {
  TensorInfo bytes{ElementType::kU8, {tensor.size_bytes()}, {}};
  if (const std::size_t item = size_bytes(tensor.element_type()); item != 0) {
    bytes.shape = tensor.shape();
    bytes.strides = tensor.byte_strides();
    bytes.shape.push_back(item);
    bytes.strides.push_back(1);
  }
  return bytes;
}

/// Copies by cv::Mat::copyTo between a tensor and packed bytes. @return false if OpenCV cannot express the tensor.
inline bool copy_by_opencv(const Tensor& tensor, std::byte* packed, bool to_packed) {
  const TensorInfo strided = as_bytes(tensor);
  const TensorInfo dense{ElementType::kU8, strided.shape, packed_strides(ElementType::kU8, strided.shape)};
  auto inside_layout = lay_out(strided), outside_layout = lay_out(dense);
  auto *inside = std::get_if<MatLayout>(&inside_layout), *outside = std::get_if<MatLayout>(&outside_layout);
  if (!inside || !outside) return false;
  // Pixels padded on one side only would be channels on the other, and copyTo would see different types.
  if (inside->dims != outside->dims) *outside = *inside;
  checked(
      "cv::Mat::copyTo", [&] { return "copying " + to_string(tensor); },
      [&] {
        cv::Mat in = header_of(*inside, strided, tensor.data()), out = header_of(*outside, dense, packed);
        (to_packed ? in : out).copyTo(to_packed ? out : in);
        return 0;
      });
  return true;
}

}  // namespace detail

/// The only OpenCV context of the process: cv::Mat has no devices.
class MatContext final : public ContextImpl {
 public:
  MatContext() { make_immortal(); }
  std::string_view name() const override { return "opencv"; }
  MemoryKind kind() const override { return kMatMemory; }
  DeviceIdentity device() const override { return host_context()->device(); }
  std::span<const Edge* const> edges() const override {
    static const detail::CpuToMat from_cpu;
    static const detail::MatToCpu to_cpu;
    static const Edge* const all[] = {&from_cpu, &to_cpu};
    return all;
  }
  Requirements requirements() const override {
    Requirements wanted;
    wanted.host_access = true;
    return wanted;
  }
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    if (wanted.fd != FdKind::kNone)
      return Refusal{"a cv::Mat has no descriptor; allocate in cpu or dmabuf and map that here"};
    return Offer{std::max<std::size_t>(wanted.alignment, 64), FdKind::kNone, 0, true};
  }
  /// A buffer of cv::Mat's default allocator. @errors kUnimplemented: descriptors; kResourceExhausted, kInternal: those
  /// of cv::Mat::create.
  Ref<Memory> allocate(const Requirements& wanted) override {
    check_offer(wanted);
    constexpr std::size_t kOpenCvAlignment = 64, kRow = 1 << 20;
    const std::size_t slack = wanted.alignment > kOpenCvAlignment ? wanted.alignment : 0;
    std::size_t bytes = 0;
    if (__builtin_add_overflow(wanted.size_bytes, wanted.tail_padding + slack, &bytes) || bytes > kRow * INT_MAX) {
      throw Error(Code::kResourceExhausted,
                  "opencv: " + std::to_string(wanted.size_bytes) + " bytes are more than a cv::Mat can have");
    }
    bytes = std::max<std::size_t>(bytes, 1);
    // Sizes are ints: larger buffers have several rows.
    const bool one_row = bytes <= INT_MAX;
    cv::Mat mat;
    detail::checked(
        "cv::Mat::create", [&] { return "allocating " + std::to_string(bytes) + " bytes"; },
        [&] {
          mat.create(one_row ? 1 : static_cast<int>((bytes + kRow - 1) / kRow),
                     static_cast<int>(one_row ? bytes : kRow), CV_8U);
          return 0;
        });
    const auto start = reinterpret_cast<std::uintptr_t>(mat.datastart);
    // Not what is left behind an aligned beginning: who takes whole pages gets whole pages.
    return MatMemory::over(mat, false, slack ? (slack - start % slack) % slack : 0, bytes - slack);
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    if (tensor.size_bytes() != 0 && !detail::copy_by_opencv(tensor, out.data(), true)) ContextImpl::read(tensor, out);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    if (tensor.size_bytes() != 0 && !detail::copy_by_opencv(tensor, const_cast<std::byte*>(in.data()), false))
      ContextImpl::write(tensor, in);
  }
};

/// The context of cv::Mat, with the edges cpu->opencv.mat and opencv.mat->cpu.
inline Context context() {
  static const Context* the_one = new Context(make_ref<MatContext>());  // Outlives static destructors that hold Mats.
  return *the_one;
}

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
