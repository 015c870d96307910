/* SPDX-License-Identifier: Apache-2.0 */
#include "lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* printed;
static size_t used, capacity;

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
void section(const char* name, void (*run)(void)) {
  say("== %s", name);
  run();
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
ov_shape_t shape_of(int64_t rank, const int64_t* dims) {
  ov_shape_t shape;
  MUST(ov_shape_create(rank, dims, &shape));
  return shape;
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

/* With a file: compares line by line, and says what differs. */
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
int done(const char* path) {
  int result = 0;
  if (path)
    result = compare(path);
  else
    fputs(printed, stdout);
  free(printed);
  printed = NULL;
  used = capacity = 0;
  return result;
}
