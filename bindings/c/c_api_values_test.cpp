// SPDX-License-Identifier: Apache-2.0
// Properties, shapes, tensors and frames through the C interface: what needs no model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/bindings/c/testing/fixture.hpp>

namespace tenon::c_api_test {
namespace c_api_values_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CApiProperties, HoldTypedValuesInOrder) {
  tenon_properties_t *map = nullptr, *inner = nullptr, *read = nullptr;
  ASSERT_EQ(tenon_properties_create(&map), TENON_OK);
  ASSERT_EQ(tenon_properties_create(&inner), TENON_OK);
  int native = 0;
  EXPECT_EQ(tenon_properties_set_text(map, "text", "LATENCY"), TENON_OK);
  EXPECT_EQ(tenon_properties_set_bool(map, "bool", true), TENON_OK);
  EXPECT_EQ(tenon_properties_set_int64(map, "int", -7), TENON_OK);
  EXPECT_EQ(tenon_properties_set_double(map, "double", 0.1), TENON_OK);
  EXPECT_EQ(tenon_properties_set_pointer(map, "pointer", &native), TENON_OK);
  EXPECT_EQ(tenon_properties_set_text(inner, "NUM_STREAMS", "2"), TENON_OK);
  EXPECT_EQ(tenon_properties_set_map(map, "map", inner), TENON_OK);
  ASSERT_EQ(tenon_properties_count(map), 6u);
  EXPECT_STREQ(tenon_properties_key(map, 0), "bool");
  EXPECT_STREQ(tenon_properties_key(map, 5), "text");
  EXPECT_EQ(tenon_properties_key(map, 6), nullptr);

  const std::pair<const char*, tenon_value_kind_t> kinds[] = {
      {"text", TENON_VALUE_TEXT},     {"bool", TENON_VALUE_BOOL},       {"int", TENON_VALUE_INT},
      {"double", TENON_VALUE_DOUBLE}, {"pointer", TENON_VALUE_POINTER}, {"map", TENON_VALUE_MAP}};
  for (const auto& [key, kind] : kinds) {
    tenon_value_t* value = nullptr;
    ASSERT_EQ(tenon_properties_get(map, key, &value), TENON_OK) << key;
    EXPECT_EQ(tenon_value_kind(value), kind) << key;
    std::int64_t number = 99;
    double real = 99;
    bool truth = false;
    void* pointer = nullptr;
    EXPECT_EQ(tenon_value_as_int64(value, &number) == TENON_OK, kind == TENON_VALUE_INT || kind == TENON_VALUE_BOOL)
        << key;
    EXPECT_EQ(tenon_value_as_double(value, &real) == TENON_OK,
              kind == TENON_VALUE_INT || kind == TENON_VALUE_BOOL || kind == TENON_VALUE_DOUBLE)
        << key;
    EXPECT_EQ(tenon_value_as_bool(value, &truth) == TENON_OK, kind == TENON_VALUE_BOOL) << key;
    EXPECT_EQ(tenon_value_as_pointer(value, &pointer) == TENON_OK, kind == TENON_VALUE_POINTER) << key;
    EXPECT_EQ(pointer, kind == TENON_VALUE_POINTER ? &native : nullptr);
    if (kind == TENON_VALUE_INT) {
      EXPECT_EQ(number, -7);
    }
    if (kind == TENON_VALUE_DOUBLE) {
      EXPECT_EQ(real, 0.1);
      char* text = nullptr;
      EXPECT_EQ(tenon_value_as_text(value, &text), TENON_OK);
      EXPECT_EQ(taken(text), "0.1") << "the shortest text that reads back";
    }
    if (kind == TENON_VALUE_MAP) {
      EXPECT_EQ(tenon_value_as_map(value, &read), TENON_OK);
      char* text = nullptr;
      EXPECT_EQ(tenon_properties_get_text(read, "NUM_STREAMS", &text), TENON_OK);
      EXPECT_EQ(taken(text), "2");
    }
    tenon_value_free(value);
  }
  EXPECT_EQ(tenon_properties_erase(map, "int"), TENON_OK);
  EXPECT_EQ(tenon_properties_erase(map, "int"), TENON_NOT_FOUND);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("there are: bool, double"));
  EXPECT_EQ(tenon_properties_set_map(map, "self", map), TENON_OK) << "a copy, no cycle";
  tenon_properties_free(map);
  tenon_properties_free(inner);
  tenon_properties_free(read);
}

TEST(CApiShapes, AreBoundsTextAndArrays) {
  tenon_partial_shape_t* shape = nullptr;
  const tenon_dimension_t bounds[] = {{1, 1}, {0, -1}, {224, 448}};
  ASSERT_EQ(tenon_partial_shape_create(3, bounds, &shape), TENON_OK);
  EXPECT_EQ(tenon_partial_shape_rank(shape), 3);
  EXPECT_TRUE(tenon_partial_shape_is_dynamic(shape));
  char* text = nullptr;
  ASSERT_EQ(tenon_partial_shape_to_text(shape, &text), TENON_OK);
  const std::string written = taken(text);
  EXPECT_EQ(written, "[1,?,224..448]");
  std::size_t extents[3];
  EXPECT_EQ(tenon_partial_shape_to_shape(shape, extents), TENON_FAILED_PRECONDITION);
  tenon_dimension_t one{};
  EXPECT_EQ(tenon_partial_shape_dimension(shape, 2, &one), TENON_OK);
  EXPECT_EQ(one.min, 224);
  EXPECT_EQ(one.max, 448);
  EXPECT_EQ(tenon_partial_shape_dimension(shape, 1, &one), TENON_OK);
  EXPECT_EQ(one.max, -1);
  EXPECT_EQ(tenon_partial_shape_dimension(shape, 3, &one), TENON_OUT_OF_RANGE);
  tenon_partial_shape_free(shape);
  ASSERT_EQ(tenon_partial_shape_parse(written.c_str(), &shape), TENON_OK);
  EXPECT_EQ(tenon_partial_shape_rank(shape), 3);
  tenon_partial_shape_free(shape);
  ASSERT_EQ(tenon_partial_shape_create_dynamic(&shape), TENON_OK);
  EXPECT_EQ(tenon_partial_shape_rank(shape), -1);
  EXPECT_NE(tenon_partial_shape_dimension(shape, 0, &one), TENON_OK);
  tenon_partial_shape_free(shape);
  EXPECT_EQ(tenon_partial_shape_parse("[1,", &shape), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(shape, nullptr);
  const tenon_dimension_t crossed[] = {{5, 2}};
  EXPECT_EQ(tenon_partial_shape_create(1, crossed, &shape), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_partial_shape_create(SIZE_MAX, bounds, &shape), TENON_INVALID_ARGUMENT);
}

TEST(CApiTensors, ReshapeResizeAndCopy) {
  const std::size_t shape[] = {2, 6}, flat[] = {12}, more[] = {4, 6};
  tenon_tensor_t *tensor = nullptr, *same = nullptr, *copy = nullptr;
  ASSERT_EQ(tenon_tensor_create(TENON_TYPE_U8, 2, shape, &tensor), TENON_OK);
  void *data = nullptr, *other = nullptr;
  ASSERT_EQ(tenon_tensor_data(tensor, &data), TENON_OK);
  std::memset(data, 3, 12);
  ASSERT_EQ(tenon_tensor_reshaped(tensor, 1, flat, &same), TENON_OK);
  ASSERT_EQ(tenon_tensor_data(same, &other), TENON_OK);
  EXPECT_EQ(other, data) << "a view";
  EXPECT_EQ(tenon_tensor_reshaped(tensor, 2, more, &copy), TENON_INVALID_ARGUMENT);
  ASSERT_EQ(tenon_tensor_create(TENON_TYPE_U8, 0, nullptr, &copy), TENON_OK);
  ASSERT_EQ(tenon_tensor_copy_to(tensor, copy), TENON_OK) << tenon_last_error_message();
  EXPECT_EQ(tenon_tensor_rank(copy), 2u);
  EXPECT_TRUE(tenon_tensor_is_contiguous(copy));
  EXPECT_EQ(tenon_tensor_set_shape(copy, 2, more), TENON_OK) << "its own memory grows";
  EXPECT_EQ(tenon_tensor_size_bytes(copy), 24u);
  char* text = nullptr;
  ASSERT_EQ(tenon_tensor_to_text(tensor, &text), TENON_OK);
  EXPECT_EQ(taken(text), "u8 [2,6] in cpu");
  unsigned char small[4];
  tenon_tensor_t* borrowed = nullptr;
  const std::size_t four[] = {4};
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_U8, 1, four, nullptr, small, nullptr, nullptr, &borrowed), TENON_OK);
  EXPECT_NE(tenon_tensor_set_shape(borrowed, 2, more), TENON_OK);
  for (tenon_tensor_t* each : {tensor, same, copy, borrowed}) tenon_tensor_free(each);
}

TEST(CApiFrames, SayWhatTheyAre) {
  tenon_frame_info_t info{};
  info.struct_size = sizeof info;
  info.fourcc = TENON_FORMAT_NV12;
  info.width_px = 32;
  info.height_px = 16;
  info.colour_range = TENON_COLOUR_RANGE_FULL;
  info.rotation = TENON_ROTATION_270;
  tenon_frame_t* frame = nullptr;
  ASSERT_EQ(tenon_frame_create(&info, &frame), TENON_OK);
  EXPECT_EQ(tenon_frame_timestamp(frame), TENON_NO_TIMESTAMP);
  EXPECT_EQ(tenon_frame_set_timestamp(frame, 40'000'000), TENON_OK);
  EXPECT_EQ(tenon_frame_timestamp(frame), 40'000'000);
  tenon_frame_info_t back{};
  back.struct_size = sizeof back;
  ASSERT_EQ(tenon_frame_get_info(frame, &back), TENON_OK);
  EXPECT_EQ(back.fourcc, info.fourcc);
  EXPECT_EQ(back.width_px, 32u);
  EXPECT_EQ(back.colour_range, TENON_COLOUR_RANGE_FULL);
  EXPECT_EQ(back.rotation, TENON_ROTATION_270);
  EXPECT_EQ(tenon_frame_plane_count(frame), 2u);
  tenon_frame_free(frame);
  // Programs that were built before pictures had a rotation.
  info.struct_size = back.struct_size = offsetof(tenon_frame_info_t, rotation);
  info.rotation = back.rotation = 77;
  ASSERT_EQ(tenon_frame_create(&info, &frame), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_frame_get_info(frame, &back), TENON_OK);
  EXPECT_EQ(back.rotation, 77) << "the caller's struct ends before it";
  back.struct_size = sizeof back;
  ASSERT_EQ(tenon_frame_get_info(frame, &back), TENON_OK);
  EXPECT_EQ(back.rotation, TENON_ROTATION_NONE);
  tenon_frame_free(frame);
  info.struct_size = sizeof info;
  for (const tenon_rotation_t wrong : {-1, 8, 90}) {
    info.rotation = wrong;
    EXPECT_EQ(tenon_frame_create(&info, &frame), TENON_INVALID_ARGUMENT) << wrong;
    EXPECT_THAT(tenon_last_error_message(), ::testing::HasSubstr("rotation"));
  }
}

}  // namespace c_api_values_test
}  // namespace tenon::c_api_test
