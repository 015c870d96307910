// SPDX-License-Identifier: Apache-2.0
// A running inference as a frame of its outputs.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>

#include "dlstreamer/base/frame.h"
#include "dlstreamer/openvino/tensor.h"

namespace dlstreamer {

/// Its tensors are those of the outputs; whatever reads one of them waits for the inference.
class OpenVINOFrame : public BaseFrame {
 public:
  OpenVINOFrame(ov::InferRequest infer_request, ContextPtr context)
      : BaseFrame(MediaType::Tensors, 0, MemoryType::OpenVINO),
        _running(std::make_shared<Running>(std::move(infer_request))) {
    const size_t outputs = _running->request.get_compiled_model().outputs().size();
    for (size_t i = 0; i < outputs; ++i)
      _tensors.push_back(std::make_shared<OpenVINOTensor>(_running->request.get_output_tensor(i), context,
                                                          [running = _running] { running->wait(); }));
  }
  ~OpenVINOFrame() override {
    try {
      wait();
    } catch (const std::exception&) {  // A tensor that is still there says it when it is read.
    }
  }

  operator ov::InferRequest() const { return _running->request; }
  /// One tensor for each input of the model. @errors std::runtime_error: one that is no OpenVINOTensor; those of OpenVINO.
  void set_input(TensorVector tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (const auto batch = std::dynamic_pointer_cast<OpenVINOTensorBatch>(tensors[i]))
        _running->request.set_input_tensors(i, batch->ov_tensors());
      else
        _running->request.set_input_tensor(i, ptr_cast<OpenVINOTensor>(tensors[i])->ov_tensor());
    }
  }
  void start() {
    _running->request.start_async();
    _running->is_started = true;
  }
  /// Until the outputs are there. What the inference read, the parent, is let go. @errors those of the inference.
  void wait() {
    _running->wait();
    set_parent(nullptr);
  }

 private:
  struct Running {
    explicit Running(ov::InferRequest of) : request(std::move(of)) {}
    void wait() {
      if (is_started) request.wait();
    }
    ov::InferRequest request;
    bool is_started = false;
  };

  std::shared_ptr<Running> _running;
};
using OpenVINOFramePtr = std::shared_ptr<OpenVINOFrame>;

}  // namespace dlstreamer
