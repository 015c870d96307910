/* SPDX-License-Identifier: Apache-2.0
   Runs all programs and compares what they print with a file: main expected.txt. Without a file, it is printed. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs.h"

static char* printed;
static size_t used, capacity;
static char folder[64] = "/tmp/tenon_ov_c_XXXXXX";

void say(const char* format, ...) {
  char text[4096];
  size_t length;
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof(text) - 1, format, list);
  va_end(list);
  strcat(text, "\n");
  length = strlen(text);
  if (used + length >= capacity) {
    capacity = (used + length) * 2;
    printed = (char*)realloc(printed, capacity);
    if (!printed) abort();
  }
  memcpy(printed + used, text, length + 1);
  used += length;
}
bool came_to(const char* what, ov_status_e status) {
  say("%s: %s", what, ov_get_error_info(status));
  return status == OK;
}
void must(ov_status_e status, const char* call, const char* file, int line) {
  const char* why;
  if (status == OK) return;
  why = ov_get_last_err_msg();
  fprintf(stderr, "%s%s:%d: %s: %s: %s\n", printed ? printed : "", file, line, call, ov_get_error_info(status),
          why ? why : "(no text)");
  exit(2);
}
void refused(const char* what, ov_status_e status, const char* part) {
  const char* why = ov_get_last_err_msg();
  if (!part)
    say("%s: %s", what, ov_get_error_info(status));
  else
    say("%s: %s, %s \"%s\"", what, ov_get_error_info(status), why && strstr(why, part) ? "says" : "does not say", part);
  ov_free(why);
}
void fails(const char* what, ov_status_e status) {
  say("%s: %s", what, status == GENERAL_ERROR || status == NOT_IMPLEMENTED ? "fails" : ov_get_error_info(status));
}
void say_shape(const char* what, const ov_shape_t* shape) {
  char text[256] = "";
  int64_t i;
  for (i = 0; i < shape->rank; ++i)
    snprintf(text + strlen(text), sizeof(text) - strlen(text), " %d", (int)shape->dims[i]);
  say("%s: rank %d:%s", what, (int)shape->rank, text);
}
void say_partial_shape(const char* what, ov_partial_shape_t shape) {
  const char* text = ov_partial_shape_to_string(shape);
  say("%s: %s, rank %d..%d, dynamic %d", what, text, (int)shape.rank.min, (int)shape.rank.max,
      ov_partial_shape_is_dynamic(shape));
  ov_free(text);
}
void say_floats(const char* what, const ov_tensor_t* tensor, size_t most) {
  char text[512] = "";
  ov_shape_t shape;
  size_t count, i;
  void* data;
  MUST(ov_tensor_get_size(tensor, &count));
  MUST(ov_tensor_data(tensor, &data));
  MUST(ov_tensor_get_shape(tensor, &shape));
  say_shape(what, &shape);
  for (i = 0; i < count && i < most; ++i)
    snprintf(text + strlen(text), sizeof(text) - strlen(text), " %.4g", ((const float*)data)[i]);
  say("%s:%s", what, text);
  ov_shape_free(&shape);
}
void say_port(const char* what, const ov_output_const_port_t* port) {
  char* name = NULL;
  ov_partial_shape_t shape;
  ov_element_type_e type;
  MUST(ov_port_get_any_name(port, &name));
  MUST(ov_port_get_partial_shape(port, &shape));
  MUST(ov_port_get_element_type(port, &type));
  say("%s: %s, element type %d", what, name, (int)type);
  say_partial_shape(what, shape);
  ov_partial_shape_free(&shape);
  ov_free(name);
}

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
ov_shape_t shape_of(int64_t rank, const int64_t* dims) {
  ov_shape_t shape;
  MUST(ov_shape_create(rank, dims, &shape));
  return shape;
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

static int compare(const char* path) {
  char expected[4096];
  char* found = printed;
  int number = 0, differences = 0;
  FILE* file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "no file %s\n", path);
    return 1;
  }
  while (true) {
    const bool more = fgets(expected, sizeof(expected), file) != NULL;
    char* end = strchr(found, '\n');
    if (!more && !end) break;
    if (!more) strcpy(expected, "(the end)\n");
    expected[strcspn(expected, "\n")] = 0;
    ++number;
    if (end) *end = 0;
    if (strcmp(expected, end ? found : "(the end)") != 0 && ++differences <= 40)
      printf("%s:%d: expected %s\n    found %s\n", path, number, expected, end ? found : "(the end)");
    if (end) found = end + 1;
  }
  fclose(file);
  printf("%d lines, %d differences\n", number, differences);
  return differences != 0 || number < 2;
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
  int result = 0;
  if (!mkdtemp(folder)) return 2;
  for (i = 0; i < sizeof(programs) / sizeof(programs[0]); ++i) {
    say("== %s", programs[i].name);
    programs[i].run();
  }
  if (argc < 2)
    fputs(printed, stdout);
  else
    result = compare(argv[1]);
  free(printed);
  snprintf(command, sizeof(command), "rm -rf %s", folder);
  if (system(command) != 0) result = 2;
  return result;
}
