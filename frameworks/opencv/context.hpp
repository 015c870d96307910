// SPDX-License-Identifier: Apache-2.0
// OpenCV as a Tenon context: cv::Mat's memory, and the edges between it and host memory.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <opencv2/core/mat.hpp>

#include <tenon/core/context.hpp>
#include <tenon/core/device_identity.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/opencv/layout.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace opencv {

/// Bytes of a cv::Mat, or host memory as seen by cv::Mat.
inline constexpr MemoryKind kMatMemory{"opencv.mat"};

/// The whole allocation behind a cv::Mat, even if the Mat is a region of it. Shares the Mat's reference count, so the
/// bytes live as long as this. A Mat over user data owns nothing: the user keeps those bytes. Has no identity, because
/// OpenCV recycles buffers without notice; each wrapping is new.
class MatMemory final : public Memory {
 public:
  static Ref<MatMemory> over(const cv::Mat& mat, bool read_only);
  /// Over a part of the Mat's allocation.
  /// @param skip  Bytes at its start to leave out (alignment).
  static Ref<MatMemory> over(const cv::Mat& mat, bool read_only, std::size_t skip, std::size_t size_bytes);
  ~MatMemory() override;

  /// The Mat as passed in: a region stays a region.
  const cv::Mat& mat() const { return mat_; }

 private:
  MatMemory(const Properties& properties, const cv::Mat& mat);

  cv::Mat mat_;
};

/// The only OpenCV context of the process: cv::Mat has no devices.
class MatContext final : public ContextImpl {
 public:
  MatContext() { make_immortal(); }
  std::string_view name() const override { return "opencv"; }
  MemoryKind kind() const override { return kMatMemory; }
  DeviceIdentity device() const override;
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override;
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// A buffer of cv::Mat's default allocator. @errors kUnimplemented: descriptors; kResourceExhausted, kInternal: those
  /// of cv::Mat::create.
  Ref<Memory> allocate(const Requirements& wanted) override;
  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;
};

/// The context of cv::Mat, with the edges cpu->opencv.mat and opencv.mat->cpu.
Context context();
/// The contexts of this framework on this machine: always the one of cv::Mat.
std::vector<Context> contexts();

}  // namespace opencv
}  // namespace v1
}  // namespace tenon
