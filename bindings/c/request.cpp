// SPDX-License-Identifier: Apache-2.0
// Requests: tensors by port, inferences, profiling.
#include <chrono>

#include <tenon/bindings/c/internal/guard.hpp>

namespace tenon::c {
namespace {

InferRequest& value_of(const tenon_infer_request_t* request) { return checked(request, "request").value; }
const Tensor& tensor_of(const tenon_tensor_t* tensor) { return checked(tensor, "tensor").value; }

std::vector<Tensor> tensors_of(const tenon_tensor_t* const* tensors, std::size_t count) {
  required_array(tensors, count, "tensors");
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(checked(tensors[i], ("tensors[" + std::to_string(i) + "]").c_str()).value);
  return values;
}

}  // namespace
}  // namespace tenon::c

using namespace tenon::c;

tenon_status_t tenon_infer_request_set_tensor(tenon_infer_request_t* request, const char* name,
                                              const tenon_tensor_t* tensor) {
  return run([&] {
    tenon::InferRequest& value = value_of(request);
    required(name, "name");
    value.set_tensor(std::string(name), tensor_of(tensor));
  });
}
tenon_status_t tenon_infer_request_set_tensor_by_port(tenon_infer_request_t* request, const tenon_port_t* port,
                                                      const tenon_tensor_t* tensor) {
  return run([&] {
    tenon::InferRequest& value = value_of(request);
    const auto& place = checked(port, "port").value;
    value.set_tensor(place, tensor_of(tensor));
  });
}
tenon_status_t tenon_infer_request_set_input_tensor(tenon_infer_request_t* request, size_t index,
                                                    const tenon_tensor_t* tensor) {
  return run([&] { value_of(request).set_input_tensor(index, tensor_of(tensor)); });
}
tenon_status_t tenon_infer_request_set_output_tensor(tenon_infer_request_t* request, size_t index,
                                                     const tenon_tensor_t* tensor) {
  return run([&] { value_of(request).set_output_tensor(index, tensor_of(tensor)); });
}
tenon_status_t tenon_infer_request_set_tensors(tenon_infer_request_t* request, const char* name,
                                               const tenon_tensor_t* const* tensors, size_t count) {
  return run([&] {
    tenon::InferRequest& value = value_of(request);
    required(name, "name");
    value.set_tensors(std::string(name), tensors_of(tensors, count));
  });
}
tenon_status_t tenon_infer_request_set_tensors_by_port(tenon_infer_request_t* request, const tenon_port_t* port,
                                                       const tenon_tensor_t* const* tensors, size_t count) {
  return run([&] {
    tenon::InferRequest& value = value_of(request);
    const auto& place = checked(port, "port").value;
    value.set_tensors(place, tensors_of(tensors, count));
  });
}
tenon_status_t tenon_infer_request_set_input_tensors(tenon_infer_request_t* request, size_t index,
                                                     const tenon_tensor_t* const* tensors, size_t count) {
  return run([&] { value_of(request).set_input_tensors(index, tensors_of(tensors, count)); });
}

tenon_status_t tenon_infer_request_get_tensor(tenon_infer_request_t* request, const char* name, tenon_tensor_t** out) {
  return make(out, [&] {
    tenon::InferRequest& value = value_of(request);
    return value.get_tensor(std::string(required(name, "name")));
  });
}
tenon_status_t tenon_infer_request_get_tensor_by_port(tenon_infer_request_t* request, const tenon_port_t* port,
                                                      tenon_tensor_t** out) {
  return make(out, [&] {
    tenon::InferRequest& value = value_of(request);
    return value.get_tensor(checked(port, "port").value);
  });
}
tenon_status_t tenon_infer_request_get_input_tensor(tenon_infer_request_t* request, size_t index,
                                                    tenon_tensor_t** out) {
  return make(out, [&] { return value_of(request).get_input_tensor(index); });
}
tenon_status_t tenon_infer_request_get_output_tensor(tenon_infer_request_t* request, size_t index,
                                                     tenon_tensor_t** out) {
  return make(out, [&] { return value_of(request).get_output_tensor(index); });
}

tenon_status_t tenon_infer_request_set_frame(tenon_infer_request_t* request, const char* name,
                                             const tenon_frame_t* frame) {
  return run([&] {
    tenon::InferRequest& value = value_of(request);
    const tenon::Frame& picture = checked(frame, "frame").value;
    if (name)
      value.set_frame(std::string(name), picture);
    else
      value.set_frame(picture);
  });
}

tenon_status_t tenon_infer_request_infer(tenon_infer_request_t* request) {
  return run([&] { value_of(request).infer(); });
}
tenon_status_t tenon_infer_request_start_async(tenon_infer_request_t* request) {
  return run([&] { value_of(request).start_async(); });
}
tenon_status_t tenon_infer_request_wait(tenon_infer_request_t* request) {
  return run([&] { value_of(request).wait(); });
}
tenon_status_t tenon_infer_request_wait_for(tenon_infer_request_t* request, int64_t timeout_ms) {
  return run([&] {
    if (!value_of(request).wait_for(std::chrono::milliseconds(timeout_ms))) {
      throw tenon::Error(tenon::Code::kDeadlineExceeded,
                         "the inference still runs after " + std::to_string(timeout_ms) + " ms");
    }
  });
}
tenon_status_t tenon_infer_request_cancel(tenon_infer_request_t* request) {
  return run([&] { value_of(request).cancel(); });
}
tenon_status_t tenon_infer_request_set_callback(tenon_infer_request_t* request, tenon_callback_t callback, void* user) {
  return run([&] {
    tenon::InferRequest& value = value_of(request);
    if (!callback) return value.set_callback({});
    value.set_callback([callback, user](std::exception_ptr error) {
      if (!error) return callback(TENON_OK, "", user);
      const tenon_status_t status = run([&] { std::rethrow_exception(error); });
      callback(status, tenon_last_error_message(), user);
    });
  });
}
tenon_status_t tenon_infer_request_get_compiled_model(const tenon_infer_request_t* request,
                                                      tenon_compiled_model_t** out) {
  return make(out, [&] { return value_of(request).get_compiled_model(); });
}
void tenon_infer_request_free(tenon_infer_request_t* request) {
  // Destroying the request would drop a running inference's callback, but C callers expect one for each start.
  if (request && is_handle(request)) {
    try {
      request->value.wait();
    } catch (...) {  // Its callback was called.
    }
  }
  free_handle(request);
}

tenon_status_t tenon_infer_request_get_profiling(const tenon_infer_request_t* request, tenon_profiling_t** out) {
  return make(out, [&] { return value_of(request).get_profiling_info(); });
}
size_t tenon_profiling_count(const tenon_profiling_t* profiling) {
  return ask(profiling, size_t{0}, [](const tenon_profiling& list) { return list.values.size(); });
}
tenon_status_t tenon_profiling_get(const tenon_profiling_t* profiling, size_t index, tenon_profiling_info_t* info) {
  return run([&] {
    const auto& values = checked(profiling, "profiling").values;
    required(info, "info");
    if (index >= values.size()) refuse_past_end("node", index, values.size());
    const tenon::ProfilingInfo& from = values[index];
    tenon_profiling_info_t value{};
    value.status = static_cast<tenon_profiling_status_t>(from.status);
    value.start_us = from.start_time.count();
    value.real_us = from.real_time.count();
    value.cpu_us = from.cpu_time.count();
    value.node_name = from.node_name.c_str();
    value.exec_type = from.exec_type.c_str();
    value.node_type = from.node_type.c_str();
    write_struct(info, value, "info");
  });
}
void tenon_profiling_free(tenon_profiling_t* profiling) { free_handle(profiling); }
