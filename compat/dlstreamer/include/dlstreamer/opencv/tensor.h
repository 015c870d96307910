// SPDX-License-Identifier: Apache-2.0
// A cv::Mat as a tensor.
#pragma once

#include <memory>
#include <utility>

#include <opencv2/core/mat.hpp>

#include <tenon/frameworks/opencv/opencv.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/opencv/utils.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto cv_mat = "cv_mat";  // cv::Mat*

}  // namespace tensor::key

class OpenCVTensor : public BaseTensor {
 public:
  /// Shares the Mat's count; a Mat over memory of others has to be kept by its owner.
  OpenCVTensor(const cv::Mat& mat, const TensorInfo& info)
      : BaseTensor(MemoryType::OpenCV, info, tensor::key::cv_mat), _mat(mat) {
    set_handle(tensor::key::cv_mat, reinterpret_cast<handle_t>(&_mat));
    set_handle(tensor::key::data, reinterpret_cast<handle_t>(_mat.data));
  }
  OpenCVTensor(const cv::Mat& mat) : OpenCVTensor(mat, detail::info_of(mat)) {}
  OpenCVTensor(const tenon::Tensor& native, ContextPtr context)
      : OpenCVTensor(tenon::opencv::mat(detail::without_batch_of_one(native),
                                        native.is_writable() ? tenon::Access::kReadWrite : tenon::Access::kRead),
                     detail::from_tenon(native.info())) {
    _context = std::move(context);
    set_native(native);
  }

  operator cv::Mat() const { return _mat; }
  cv::Mat cv_mat() const { return _mat; }
  void* data() const override { return _mat.data; }

 protected:
  tenon::Tensor make_native() const override {
    const tenon::Tensor whole = tenon::opencv::wrap(_mat);
    return tenon::Tensor(detail::to_tenon(_info), whole.memory(), whole.offset(), whole.lease(), whole.view());
  }

 private:
  cv::Mat _mat;
};
using OpenCVTensorPtr = std::shared_ptr<OpenCVTensor>;

}  // namespace dlstreamer
