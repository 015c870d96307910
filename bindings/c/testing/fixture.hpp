// SPDX-License-Identifier: Apache-2.0
// For tests of the C API: a core with two test devices, and a stateful model compiled on one of them.
#pragma once

#include <cstring>
#include <stdexcept>

#include <tenon/runtime/device/device_registry.hpp>

#include <tenon/bindings/c/testing/model.hpp>  // IWYU pragma: export
#include <tenon/bindings/c/testing/places_device.hpp>
#include <tenon/runtime/testing/reference_device.hpp>

namespace tenon::c_api_test {

inline void register_devices() {
  static const bool once = [] {
    register_device(testing::reference_module());
    register_device(testing::places_module());
    return true;
  }();
  static_cast<void>(once);
}

inline void check(tenon_status_t status) {
  if (status != TENON_OK) throw std::runtime_error(tenon_last_error_message());
}

/// total += x; y = total, f32 [1,4], as IR without weights: the state starts as zeros of the input's shape.
inline const char kAccumulator[] = R"(<?xml version="1.0"?>
<net name="accumulator" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="none" type="Subtract" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="2" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="2" name="read" type="ReadValue" version="opset6"><data variable_id="total" variable_type="f32" variable_shape="1,4"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="3" name="sum" type="Add" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="2" precision="FP32" names="y"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="4" name="assign" type="Assign" version="opset6"><data variable_id="total" variable_type="f32" variable_shape="1,4"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="5" name="result" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/><edge from-layer="1" from-port="2" to-layer="2" to-port="0"/>
<edge from-layer="2" from-port="1" to-layer="3" to-port="0"/><edge from-layer="0" from-port="0" to-layer="3" to-port="1"/>
<edge from-layer="3" from-port="2" to-layer="4" to-port="0"/><edge from-layer="3" from-port="2" to-layer="5" to-port="0"/>
</edges></net>)";

/// A core, the accumulator, and a request for it, freed in the wrong order, which must not matter.
struct Objects {
  Objects() {
    register_devices();
    check(tenon_core_create(&core));
    check(tenon_core_read_model_from_memory(core, kAccumulator, std::strlen(kAccumulator), nullptr, &model));
    const tenon_property_t properties[] = {{"PERF_COUNT", "YES"}};
    tenon_compile_options_t options{};
    options.struct_size = sizeof options;
    options.properties = properties;
    options.property_count = 1;
    check(tenon_core_compile_model(core, model, "PLACES", &options, &compiled_model));
    check(tenon_compiled_model_create_infer_request(compiled_model, &infer_request));
  }
  ~Objects() {
    tenon_core_free(core);
    tenon_model_free(model);
    tenon_compiled_model_free(compiled_model);
    tenon_infer_request_free(infer_request);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  tenon_core_t* core = nullptr;
  tenon_model_t* model = nullptr;
  tenon_compiled_model_t* compiled_model = nullptr;
  tenon_infer_request_t* infer_request = nullptr;
};

}  // namespace tenon::c_api_test
