/* SPDX-License-Identifier: Apache-2.0
   Runs all programs and compares what they print with a file: main expected.txt. Without a file, it is printed. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

static char folder[64] = "/tmp/tenon_ov_c_XXXXXX";

const float small_weights[3] = {1, 2, 3};
void small_model_text(const char* shape, char* xml, size_t size) {
  char dims[256] = "", copy[128];
  char* each;
  snprintf(copy, sizeof(copy), "%s", shape);
  for (each = strtok(copy, ","); each; each = strtok(NULL, ","))
    snprintf(dims + strlen(dims), sizeof(dims) - strlen(dims), "<dim>%s</dim>", each);
  snprintf(xml, size,
           "<?xml version=\"1.0\"?><net name=\"small\" version=\"11\"><layers>"
           "<layer id=\"0\" name=\"input\" type=\"Parameter\" version=\"opset1\"><data shape=\"%s\" "
           "element_type=\"f32\"/><output>"
           "<port id=\"0\" precision=\"FP32\" names=\"x\">%s</port></output></layer>"
           "<layer id=\"1\" name=\"channels\" type=\"Const\" version=\"opset1\"><data element_type=\"f32\" "
           "shape=\"1,3,1,1\" offset=\"0\" "
           "size=\"12\"/><output><port id=\"0\" "
           "precision=\"FP32\"><dim>1</dim><dim>3</dim><dim>1</dim><dim>1</dim></port></output></layer>"
           "<layer id=\"2\" name=\"sum\" type=\"Add\" version=\"opset1\"><data auto_broadcast=\"numpy\"/><input>"
           "<port id=\"0\" precision=\"FP32\">%s</port>"
           "<port id=\"1\" precision=\"FP32\"><dim>1</dim><dim>3</dim><dim>1</dim><dim>1</dim></port></input>"
           "<output><port id=\"2\" precision=\"FP32\" names=\"inner\">%s</port></output></layer>"
           "<layer id=\"3\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" "
           "precision=\"FP32\">%s</port></input>"
           "<output><port id=\"1\" precision=\"FP32\" names=\"y\">%s</port></output></layer>"
           "<layer id=\"4\" name=\"output\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" "
           "precision=\"FP32\">%s</port></input></layer>"
           "</layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"2\" to-port=\"0\"/>"
           "<edge from-layer=\"1\" from-port=\"0\" to-layer=\"2\" to-port=\"1\"/><edge from-layer=\"2\" "
           "from-port=\"2\" to-layer=\"3\" to-port=\"0\"/>"
           "<edge from-layer=\"3\" from-port=\"1\" to-layer=\"4\" to-port=\"0\"/></edges></net>",
           shape, dims, dims, dims, dims, dims, dims);
}
ov_model_t* small_model(const ov_core_t* core, const char* shape) {
  char xml[4096];
  const int64_t size = 12;
  ov_shape_t bytes = shape_of(1, &size);
  ov_tensor_t* weights = NULL;
  ov_model_t* model = NULL;
  void* data;
  small_model_text(shape, xml, sizeof(xml));
  MUST(ov_tensor_create(U8, bytes, &weights));
  MUST(ov_tensor_data(weights, &data));
  memcpy(data, small_weights, 12);
  MUST(ov_core_read_model_from_memory_buffer(core, xml, strlen(xml), weights, &model));
  ov_tensor_free(weights);
  ov_shape_free(&bytes);
  return model;
}
const char* path_of(const char* name) {
  static char path[256];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"values", values},
                  {"models", models},
                  {"classification", classification},
                  {"asynchronous", asynchronous},
                  {"preprocessing", preprocessing},
                  {"dynamic shapes", dynamic_shapes},
                  {"caching", caching},
                  {"properties", properties},
                  {"errors", errors}};
  size_t i;
  char command[96];
  int result;
  if (!mkdtemp(folder)) return 2;
  for (i = 0; i < sizeof(programs) / sizeof(programs[0]); ++i) section(programs[i].name, programs[i].run);
  result = done(argc < 2 ? NULL : argv[1]);
  snprintf(command, sizeof(command), "rm -rf %s", folder);
  if (system(command) != 0) result = 2;
  return result;
}
