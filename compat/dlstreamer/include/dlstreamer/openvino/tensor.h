// SPDX-License-Identifier: Apache-2.0
// An ov::Tensor as a tensor.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <openvino/runtime/tensor.hpp>

#include <tenon/frameworks/openvino/openvino.hpp>
#include <tenon/frameworks/openvino/remote.hpp>

#include "dlstreamer/base/context.h"
#include "dlstreamer/openvino/utils.h"

namespace dlstreamer {
namespace tensor::key {

static constexpr auto ov_tensor = "ov_tensor";  // ov::Tensor*

}  // namespace tensor::key

class OpenVINOTensor : public BaseTensor {
 public:
  /// @param wait_function  Called before the bytes are given out: until an inference has written them.
  OpenVINOTensor(ov::Tensor tensor, ContextPtr context, std::function<void()> wait_function = nullptr)
      : BaseTensor(MemoryType::OpenVINO, ov_tensor_to_tensor_info(tensor), tensor::key::ov_tensor, std::move(context)),
        _ov_tensor(std::move(tensor)),
        _wait_function(std::move(wait_function)) {
    set_handle(tensor::key::ov_tensor, reinterpret_cast<handle_t>(&_ov_tensor));
  }
  /// Over a tensor of Tenon's openvino framework, which the ov::Tensor keeps.
  OpenVINOTensor(const tenon::Tensor& native, ContextPtr context)
      : OpenVINOTensor(
            tenon::openvino::tensor(native, {native.is_writable() ? tenon::Access::kReadWrite : tenon::Access::kRead}),
            std::move(context)) {
    set_native(native);
  }

  void* data() const override {
    if (_wait_function) _wait_function();
    return const_cast<void*>(static_cast<const ov::Tensor&>(_ov_tensor).data());
  }
  ov::Tensor ov_tensor() const { return _ov_tensor; }
  operator ov::Tensor() const { return _ov_tensor; }

 protected:
  tenon::Tensor make_native() const override {
    if (!_ov_tensor.is<ov::RemoteTensor>()) return tenon::openvino::wrap(_ov_tensor);
    return tenon::openvino::wrap(ptr_cast<BaseContext>(_context)->native(), _ov_tensor);
  }
  void before_map(const tenon::Tensor& /*native*/) const override {
    if (_wait_function) _wait_function();
  }

  ov::Tensor _ov_tensor;
  std::function<void()> _wait_function;
};
using OpenVINOTensorPtr = std::shared_ptr<OpenVINOTensor>;

/// Several tensors of a batch of one each, as ov::InferRequest::set_tensors() takes them.
class OpenVINOTensorBatch : public OpenVINOTensor {
 public:
  /// @errors std::runtime_error: no tensor, or one of another batch than 1.
  OpenVINOTensorBatch(ov::TensorVector tensors, ContextPtr context)
      : OpenVINOTensor(first(tensors), std::move(context)), _tensors(std::move(tensors)) {
    _info.shape.front() = _tensors.size();
  }
  void* data() const override {
    throw std::runtime_error("OpenVINOTensorBatch::data: the tensors of a batch lie apart; use ov_tensors()");
  }
  const ov::TensorVector& ov_tensors() const { return _tensors; }

 private:
  static ov::Tensor first(const ov::TensorVector& tensors) {
    if (tensors.empty() || tensors.front().get_shape().empty() || tensors.front().get_shape().front() != 1)
      throw std::runtime_error("OpenVINOTensorBatch: it takes tensors whose first extent, the batch, is 1");
    return tensors.front();
  }

  ov::TensorVector _tensors;
};

}  // namespace dlstreamer
