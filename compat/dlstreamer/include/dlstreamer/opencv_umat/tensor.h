// SPDX-License-Identifier: Apache-2.0
// A cv::UMat as a tensor.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include <opencv2/core/mat.hpp>

#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/opencv_umat/utils.h"

namespace dlstreamer {

class OpenCVUMatTensor : public BaseTensor {
 public:
  struct key {
    static constexpr auto cv_umat = "cv_umat";  // cv::UMat*
  };
  /// Shares the UMat's count. Without a context it cannot be mapped.
  OpenCVUMatTensor(const cv::UMat& umat, const TensorInfo& info, ContextPtr context = nullptr)
      : BaseTensor(MemoryType::OpenCVUMat, info, key::cv_umat, std::move(context)), _umat(umat) {
    set_handle(key::cv_umat, reinterpret_cast<handle_t>(&_umat));
  }
  OpenCVUMatTensor(const cv::UMat& umat) : OpenCVUMatTensor(umat, detail::info_of(umat)) {}
  OpenCVUMatTensor(const tenon::Tensor& native, ContextPtr context)
      : OpenCVUMatTensor(
            tenon::opencv_opencl::umat(detail::without_batch_of_one(native),
                                       native.is_writable() ? tenon::Access::kReadWrite : tenon::Access::kRead),
            detail::from_tenon(native.info()), std::move(context)) {
    _is_mapped = true;
    set_native(native);
  }
  /// What OpenCV has in its queue until now is waited for by what uses the memory next.
  ~OpenCVUMatTensor() override {
    try {
      if (_is_mapped) native();
    } catch (const std::exception&) {  // The queue is gone, and nothing runs in it.
    }
  }

  operator cv::UMat() const { return _umat; }
  cv::UMat umat() const { return _umat; }

 protected:
  tenon::Tensor make_native() const override {
    const tenon::Tensor whole = tenon::opencv_opencl::wrap(ptr_cast<BaseContext>(_context)->native(), _umat);
    return tenon::Tensor(detail::to_tenon(_info), whole.memory(), whole.offset(), whole.lease(), whole.view());
  }
  void before_map(const tenon::Tensor& native) const override { tenon::opencv_opencl::wrote(native); }

 private:
  cv::UMat _umat;
  bool _is_mapped = false;
};
using OpenCVUMatTensorPtr = std::shared_ptr<OpenCVUMatTensor>;

}  // namespace dlstreamer
