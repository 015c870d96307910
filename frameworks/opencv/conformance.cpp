// SPDX-License-Identifier: Apache-2.0
// OpenCV for the conformance suite: Mats allocated by OpenCV, passed in by users, regions, and headers over tensors.
#include <tenon/frameworks/opencv/opencv.hpp>

#include <atomic>

#include <tenon/tests/conformance/framework.hpp>

namespace opencv_conformance {

using namespace tenon;

/// Replaces OpenCV's allocator: counts buffers, and fails on request.
class WatchedAllocator final : public cv::MatAllocator {
 public:
  cv::UMatData* allocate(int dims, const int* sizes, int type, void* data, std::size_t* step, cv::AccessFlag flags,
                         cv::UMatUsageFlags usage) const override {
    if (countdown > 0 && --countdown == 0) {
      failed = true;
      CV_Error(cv::Error::StsNoMem, "told to fail");
    }
    cv::UMatData* made = cv::Mat::getStdAllocator()->allocate(dims, sizes, type, data, step, flags, usage);
    made->prevAllocator = made->currAllocator = this;
    ++live;
    return made;
  }
  bool allocate(cv::UMatData* data, cv::AccessFlag flags, cv::UMatUsageFlags usage) const override {
    return cv::Mat::getStdAllocator()->allocate(data, flags, usage);
  }
  void deallocate(cv::UMatData* data) const override {
    --live;
    cv::Mat::getStdAllocator()->deallocate(data);
  }
  mutable std::atomic<long> countdown{0};
  mutable std::atomic<bool> failed{false};
  mutable std::atomic<std::size_t> live{0};
};

WatchedAllocator& watched() {
  static auto* allocator = new WatchedAllocator;
  return *allocator;
}

class OpenCvUnderTest final : public conformance::FrameworkUnderTest {
 public:
  OpenCvUnderTest() { cv::Mat::setDefaultAllocator(&watched()); }
  std::string_view name() const override { return "opencv"; }
  Context make_context() override { return opencv::context(); }
  std::vector<std::string> variants() const override { return {"owned", "wrapped", "region"}; }

  conformance::Allocation make_memory(const Context& context, std::string_view variant,
                                      const Requirements& wanted) override {
    if (variant == "owned") return {context->allocate(wanted), {}};
    const int bytes = static_cast<int>(std::max<std::size_t>(wanted.size_bytes, 1));
    return opencv::detail::checked(
        "cv::Mat::create", [] { return std::string("a user's Mat"); },
        [&] {
          if (variant == "wrapped") return conformance::Allocation{opencv::wrap(cv::Mat(1, bytes, CV_8U)).memory(), {}};
          // Only the region is passed in and the parent released: the count that both share keeps the bytes.
          const cv::Mat parent(3, bytes, CV_8U);
          return conformance::Allocation{opencv::wrap(parent.rowRange(1, 2)).memory(), {}};
        });
  }

  std::size_t live_objects() const override { return watched().live; }
  bool fail_native_call(std::size_t n) override {
    watched().failed = false;
    watched().countdown = static_cast<long>(n);
    return true;
  }
  bool native_call_failed() const override { return watched().failed; }
};

[[maybe_unused]] const bool registered = conformance::add(std::make_unique<OpenCvUnderTest>());

}  // namespace opencv_conformance
