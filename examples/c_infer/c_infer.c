/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model from C: c_infer [model [device]]. Inputs are filled with 1; prints shapes, the first output values and
 * the ledger. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/bindings/c/tenon.h>

/* Without a model: y = relu(x) over four floats, as OpenVINO IR. */
static const char kRelu[] =
    "<?xml version=\"1.0\"?><net name=\"relu\" version=\"11\"><layers>"
    "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,4\" element_type=\"f32\"/>"
    "<output><port id=\"0\" precision=\"FP32\" names=\"x\"><dim>1</dim><dim>4</dim></port></output></layer>"
    "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\">"
    "<input><port id=\"0\" precision=\"FP32\"><dim>1</dim><dim>4</dim></port></input>"
    "<output><port id=\"1\" precision=\"FP32\" names=\"y\"><dim>1</dim><dim>4</dim></port></output></layer>"
    "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\">"
    "<input><port id=\"0\" precision=\"FP32\"><dim>1</dim><dim>4</dim></port></input></layer></layers>"
    "<edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
    "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";

/* Every call is checked in one place. */
static void check(tenon_status_t status, const char* what) {
  if (status == TENON_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, tenon_status_name(status), tenon_last_error_message());
  exit(1);
}

static void print_port(const char* side, const tenon_port_info_t* port) {
  printf("%s %s [", side, port->name);
  for (int32_t axis = 0; axis < port->rank; ++axis) printf("%s%lld", axis ? "," : "", (long long)port->shape[axis]);
  printf("]\n");
}

static void fill_with_ones(tenon_tensor_t* tensor) {
  void* data = NULL;
  check(tenon_tensor_data(tensor, &data), "tensor data");
  if (tenon_tensor_type(tensor) != TENON_TYPE_F32) {
    memset(data, 1, tenon_tensor_size_bytes(tensor));
    return;
  }
  for (size_t i = 0; i < tenon_tensor_size_bytes(tensor) / sizeof(float); ++i) ((float*)data)[i] = 1.0f;
}

int main(int argc, char** argv) {
  tenon_core_t* core = NULL;
  tenon_model_t* model = NULL;
  tenon_compiled_model_t* compiled = NULL;
  tenon_infer_request_t* request = NULL;

  check(tenon_core_create(&core), "core");
  if (argc > 1)
    check(tenon_core_read_model(core, argv[1], NULL, &model), argv[1]);
  else
    check(tenon_core_read_model_from_memory(core, kRelu, sizeof kRelu - 1, NULL, &model), "model");
  check(tenon_core_compile_model(core, model, argc > 2 ? argv[2] : "CPU", NULL, &compiled), "compile");
  check(tenon_compiled_model_create_infer_request(compiled, &request), "request");

  tenon_port_info_t port;
  memset(&port, 0, sizeof port);
  port.struct_size = sizeof port;
  for (size_t i = 0; i < tenon_compiled_model_input_count(compiled); ++i) {
    tenon_tensor_t* tensor = NULL;
    check(tenon_compiled_model_input_info(compiled, i, &port), "input");
    print_port("input ", &port);
    check(tenon_infer_request_get_input_tensor(request, i, &tensor), "input tensor");
    fill_with_ones(tensor);
    tenon_tensor_free(tensor);
  }

  check(tenon_infer_request_start_async(request), "start");
  check(tenon_infer_request_wait(request), "wait");

  for (size_t i = 0; i < tenon_compiled_model_output_count(compiled); ++i) {
    tenon_tensor_t* tensor = NULL;
    void* data = NULL;
    check(tenon_compiled_model_output_info(compiled, i, &port), "output");
    print_port("output", &port);
    check(tenon_infer_request_get_output_tensor(request, i, &tensor), "output tensor");
    check(tenon_tensor_data(tensor, &data), "output data");
    if (tenon_tensor_type(tensor) == TENON_TYPE_F32) {
      for (size_t k = 0; k < 4 && k < tenon_tensor_size_bytes(tensor) / sizeof(float); ++k)
        printf(" %g", ((float*)data)[k]);
      printf("\n");
    }
    tenon_tensor_free(tensor);
  }

  tenon_ledger_totals_t totals;
  memset(&totals, 0, sizeof totals);
  totals.struct_size = sizeof totals;
  check(tenon_infer_request_ledger(request, &totals), "ledger");
  printf("copied %llu B, converted %llu B, waits %llu\n", (unsigned long long)totals.copied_bytes,
         (unsigned long long)totals.converted_bytes, (unsigned long long)totals.waits);

  tenon_infer_request_free(request);
  tenon_compiled_model_free(compiled);
  tenon_model_free(model);
  tenon_core_free(core);
  return 0;
}
