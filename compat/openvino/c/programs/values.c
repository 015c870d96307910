/* SPDX-License-Identifier: Apache-2.0
   Statuses, shapes, layouts and tensors. */
#include <string.h>

#include "programs.h"

static void statuses(void) {
  int status;
  for (status = 0; status >= -17; --status) say("%d: %s", status, ov_get_error_info((ov_status_e)status));
}

static void shapes(void) {
  const int64_t dims[] = {1, 3, 224, 224}, negative[] = {1, -1}, zero[] = {0, 2};
  ov_shape_t shape, other;
  ov_partial_shape_t partial;
  const ov_dimension_t mixed[] = {{1, 1}, {-1, -1}, {2, 8}, {0, 7}}, reversed[] = {{5, 2}}, below[] = {{-2, 4}},
                       open[] = {{3, -1}};
  const ov_rank_t dynamic = {-1, -1}, two = {2, 2}, interval = {1, 3}, four = {4, 4};
  came_to("a shape", ov_shape_create(4, dims, &shape));
  say_shape("a shape", &shape);
  came_to("free", ov_shape_free(&shape));
  say("freed: rank %d, %s", (int)shape.rank, shape.dims ? "an address" : "no address");
  came_to("free again", ov_shape_free(&shape));
  came_to("free nothing", ov_shape_free(NULL));
  came_to("no shape", ov_shape_create(4, dims, NULL));
  came_to("negative rank", ov_shape_create(-1, dims, &shape));
  came_to("negative extent", ov_shape_create(2, negative, &shape));
  if (came_to("extent 0", ov_shape_create(2, zero, &shape))) ov_shape_free(&shape);
  if (came_to("no extents", ov_shape_create(2, NULL, &shape))) ov_shape_free(&shape);

  MUST(ov_partial_shape_create(4, mixed, &partial));
  say_partial_shape("mixed", partial);
  refused("mixed to static", ov_partial_shape_to_shape(partial, &other), NULL);
  ov_partial_shape_free(&partial);
  came_to("reversed", ov_partial_shape_create(1, reversed, &partial));
  came_to("below -1", ov_partial_shape_create(1, below, &partial));
  came_to("3 and more", ov_partial_shape_create(1, open, &partial));
  came_to("no dimensions", ov_partial_shape_create(1, NULL, &partial));
  MUST(ov_partial_shape_create_dynamic(dynamic, NULL, &partial));
  say_partial_shape("dynamic rank", partial);
  ov_partial_shape_free(&partial);
  came_to("rank without extents", ov_partial_shape_create_dynamic(two, NULL, &partial));
  if (came_to("rank as an interval", ov_partial_shape_create_dynamic(interval, NULL, &partial))) {
    say_partial_shape("rank as an interval", partial);
    ov_partial_shape_free(&partial);
  }
  MUST(ov_partial_shape_create_dynamic(four, mixed, &partial));
  say_partial_shape("rank 4", partial);
  ov_partial_shape_free(&partial);
  MUST(ov_partial_shape_create_static(4, dims, &partial));
  say_partial_shape("static", partial);
  MUST(ov_partial_shape_to_shape(partial, &shape));
  say_shape("static", &shape);
  ov_partial_shape_free(&partial);
  MUST(ov_shape_to_partial_shape(shape, &partial));
  say_partial_shape("back", partial);
  ov_partial_shape_free(&partial);
  came_to("to no shape", ov_shape_to_partial_shape(shape, NULL));
  ov_shape_free(&shape);
  say("dimensions: %d %d %d", ov_dimension_is_dynamic(mixed[0]), ov_dimension_is_dynamic(mixed[1]),
      ov_dimension_is_dynamic(mixed[2]));
  say("ranks: %d %d", ov_rank_is_dynamic(dynamic), ov_rank_is_dynamic(two));
}

static void layouts(void) {
  static const char* const kTexts[] = {"NCHW", "N...C", "[N,C,H,W]", "N?HW"};
  size_t i;
  ov_layout_t* layout = NULL;
  for (i = 0; i < 4; ++i) {
    const char* text;
    MUST(ov_layout_create(kTexts[i], &layout));
    text = ov_layout_to_string(layout);
    say("layout %s: %s", kTexts[i], text);
    ov_free(text);
    ov_layout_free(layout);
  }
  refused("layout N!", ov_layout_create("N!", &layout), NULL);
  came_to("no layout", ov_layout_create(NULL, &layout));
  ov_layout_free(NULL);
}

static void tensors(void) {
  const int64_t dims[] = {2, 3}, smaller[] = {1, 3}, larger[] = {4, 3}, one[] = {3};
  const char* words[] = {"a", "longer text than fits in place", ""};
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  ov_shape_t shape = shape_of(2, dims), found;
  ov_tensor_t *tensor = NULL, *over = NULL, *texts = NULL;
  ov_element_type_e type;
  size_t size, bytes;
  void* data;
  int i;
  static const ov_element_type_e kTypes[] = {OV_BOOLEAN, BF16, F16, F32, F64, I4,  I8, I16,
                                             I32,        I64,  U4,  U8,  U16, U32, U64};
  for (i = 0; i < (int)(sizeof(kTypes) / sizeof(kTypes[0])); ++i) {
    MUST(ov_tensor_create(kTypes[i], shape, &tensor));
    MUST(ov_tensor_get_element_type(tensor, &type));
    MUST(ov_tensor_get_size(tensor, &size));
    MUST(ov_tensor_get_byte_size(tensor, &bytes));
    say("type %d: %d, %d elements, %d bytes", (int)kTypes[i], (int)type, (int)size, (int)bytes);
    ov_tensor_free(tensor);
  }
  came_to("no such type", ov_tensor_create((ov_element_type_e)100, shape, &tensor));
  came_to("no tensor", ov_tensor_create(F32, shape, NULL));
  MUST(ov_tensor_create_from_host_ptr(F32, shape, numbers, &over));
  MUST(ov_tensor_data(over, &data));
  say("over memory: %d", data == (void*)numbers);
  say_floats("over memory", over, 6);
  came_to("over nothing", ov_tensor_create_from_host_ptr(F32, shape, NULL, &tensor));
  ov_shape_free(&shape);
  shape = shape_of(2, smaller);
  came_to("smaller", ov_tensor_set_shape(over, shape));
  say_floats("smaller", over, 6);
  ov_shape_free(&shape);
  shape = shape_of(2, larger);
  refused("larger than the memory", ov_tensor_set_shape(over, shape), NULL);
  ov_shape_free(&shape);
  ov_tensor_free(over);

  shape = shape_of(1, one);
  if (came_to("texts", ov_tensor_create_from_string_array(words, 3, shape, &texts))) {
    MUST(ov_tensor_get_element_type(texts, &type));
    MUST(ov_tensor_get_size(texts, &size));
    MUST(ov_tensor_get_shape(texts, &found));
    say("texts: type %d, %d", (int)type, (int)size);
    say_shape("texts", &found);
    ov_shape_free(&found);
    came_to("other texts", ov_tensor_set_string_data(texts, words, 3));
    refused("too few texts", ov_tensor_set_string_data(texts, words, 2), NULL);
    came_to("no texts", ov_tensor_set_string_data(texts, NULL, 3));
    ov_tensor_free(texts);
  }
  if (came_to("fewer texts than elements", ov_tensor_create_from_string_array(words, 2, shape, &texts))) {
    MUST(ov_tensor_get_size(texts, &size));
    say("elements: %d", (int)size);
    ov_tensor_free(texts);
  }
  shape.dims[0] = 2;
  if (came_to("more texts than elements", ov_tensor_create_from_string_array(words, 3, shape, &texts))) {
    MUST(ov_tensor_get_size(texts, &size));
    say("elements: %d", (int)size);
    ov_tensor_free(texts);
  }
  shape.dims[0] = 3;
  MUST(ov_tensor_create(F32, shape, &tensor));
  refused("texts into numbers", ov_tensor_set_string_data(tensor, words, 3), NULL);
  ov_tensor_free(tensor);
  ov_shape_free(&shape);
  ov_tensor_free(NULL);
}

void values(void) {
  statuses();
  shapes();
  layouts();
  tensors();
}
