/* SPDX-License-Identifier: Apache-2.0
   Runs the programs for remote tensors in C and compares what they print with a file: main gpu|npu|va|va-numbers [expected.txt]. Without a file, it
   is printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote.h"

#include <openvino/c/ov_prepostprocess.h>

void check(bool condition, const char* what, const char* file, int line) {
  if (condition) return;
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
  exit(1);
}

ov_model_t* relu_model(const ov_core_t* core, const char* shape) {
  char xml[2048], dims[256] = "", copy[128];
  ov_model_t* model = NULL;
  char* each;
  snprintf(copy, sizeof(copy), "%s", shape);
  for (each = strtok(copy, ","); each; each = strtok(NULL, ","))
    snprintf(dims + strlen(dims), sizeof(dims) - strlen(dims), "<dim>%s</dim>", each);
  snprintf(
      xml, sizeof(xml),
      "<?xml version=\"1.0\"?><net name=\"m\" version=\"11\"><layers>"
      "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"%s\" element_type=\"f32\"/>"
      "<output><port id=\"0\" precision=\"FP32\" names=\"x\">%s</port></output></layer>"
      "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\"><input><port id=\"0\" "
      "precision=\"FP32\">%s</port>"
      "</input><output><port id=\"1\" precision=\"FP32\" names=\"y\">%s</port></output></layer>"
      "<layer id=\"2\" name=\"y\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" precision=\"FP32\">%s</port>"
      "</input></layer></layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
      "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>",
      shape, dims, dims, dims, dims);
  MUST(ov_core_read_model_from_memory_buffer(core, xml, strlen(xml), NULL, &model));
  return model;
}

ov_model_t* picture_model(const ov_core_t* core, const char* shape) {
  ov_model_t *plain = relu_model(core, shape), *model = NULL;
  ov_preprocess_prepostprocessor_t* steps_of_all = NULL;
  ov_preprocess_input_info_t* input = NULL;
  ov_preprocess_input_tensor_info_t* tensor = NULL;
  ov_preprocess_preprocess_steps_t* steps = NULL;
  ov_preprocess_input_model_info_t* wanted = NULL;
  ov_layout_t* layout = NULL;
  MUST(ov_preprocess_prepostprocessor_create(plain, &steps_of_all));
  MUST(ov_preprocess_prepostprocessor_get_input_info_by_index(steps_of_all, 0, &input));
  MUST(ov_preprocess_input_info_get_tensor_info(input, &tensor));
  MUST(ov_preprocess_input_tensor_info_set_element_type(tensor, U8));
  MUST(ov_preprocess_input_tensor_info_set_color_format_with_subname(tensor, NV12_TWO_PLANES, 2, "y", "uv"));
  MUST(ov_preprocess_input_tensor_info_set_memory_type(tensor, "GPU_SURFACE"));
  MUST(ov_preprocess_input_info_get_preprocess_steps(input, &steps));
  MUST(ov_preprocess_preprocess_steps_convert_color(steps, BGR));
  MUST(ov_preprocess_input_info_get_model_info(input, &wanted));
  MUST(ov_layout_create("NCHW", &layout));
  MUST(ov_preprocess_input_model_info_set_layout(wanted, layout));
  MUST(ov_preprocess_prepostprocessor_build(steps_of_all, &model));
  ov_layout_free(layout);
  ov_preprocess_input_model_info_free(wanted);
  ov_preprocess_preprocess_steps_free(steps);
  ov_preprocess_input_tensor_info_free(tensor);
  ov_preprocess_input_info_free(input);
  ov_preprocess_prepostprocessor_free(steps_of_all);
  ov_model_free(plain);
  return model;
}

void say_params(const char* what, char* params) {
  char keys[256] = "", value[64] = "", copy[1024];
  char* each;
  snprintf(copy, sizeof(copy), "%s", params);
  for (each = strtok(copy, "{,}"); each; each = strtok(NULL, "{,}")) {
    char* colon = strchr(each, ':');
    if (!colon) continue;
    *colon = 0;
    snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys), "%s%s", *keys ? "," : "", each);
    if (strcmp(each, "SHARED_MEM_TYPE") == 0 || strcmp(each, "CONTEXT_TYPE") == 0 || strcmp(each, "MEM_TYPE") == 0)
      snprintf(value, sizeof(value), "%s", colon + 1);
  }
  say("%s: %s of %s", what, value, keys);
  ov_free(params);
}

void* address_in(const char* params, const char* key) {
  char name[64];
  void* address = NULL;
  const char* found;
  snprintf(name, sizeof(name), "%s:", key);
  found = strstr(params, name);
  CHECK(found && sscanf(found + strlen(name), "%p", &address) == 1);
  return address;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } programs[] = {{"gpu", gpu},
                  {"npu", npu},
#ifdef WITH_VA
                  {"va", va},
                  {"va-numbers", va_numbers}
#endif
  };
  size_t i;
  for (i = 0; i < sizeof(programs) / sizeof(programs[0]); ++i) {
    if (argc < 2 || strcmp(argv[1], programs[i].name) != 0) continue;
    programs[i].run();
    return done(argc > 2 ? argv[2] : NULL);
  }
  fprintf(stderr, "usage: %s gpu|npu|va|va-numbers [expected.txt]\n", argv[0]);
  return 2;
}
