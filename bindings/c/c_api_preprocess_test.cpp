// SPDX-License-Identifier: Apache-2.0
// Layouts and preprocessing through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include <tenon/bindings/c/testing/fixture.hpp>

namespace tenon::c_api_test {
namespace c_api_preprocess_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CApiPreprocess : public ::testing::Test, public Objects {};

TEST_F(CApiPreprocess, PreprocessingBecomesPartOfTheModel) {
  tenon_model_t *relu = nullptr, *whole = nullptr;
  const auto xml = serialize(*testing::relu_model(PartialShape{1, 2, 2, 2})).xml;
  ASSERT_EQ(tenon_core_read_model_from_memory(core, xml.data(), xml.size(), nullptr, &relu), TENON_OK);
  tenon_preprocessor_t* steps = nullptr;
  tenon_preprocess_input_t* input = nullptr;
  tenon_preprocess_output_t* output = nullptr;
  ASSERT_EQ(tenon_preprocessor_create(relu, &steps), TENON_OK);
  ASSERT_EQ(tenon_preprocessor_input(steps, nullptr, &input), TENON_OK);
  ASSERT_EQ(tenon_preprocessor_output_by_index(steps, 0, &output), TENON_OK);
  const float mean[] = {10, 20}, scale[] = {2};
  EXPECT_EQ(tenon_preprocess_input_set_element_type(input, TENON_TYPE_U8), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_set_layout(input, "NHWC"), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_set_model_layout(input, "NCHW"), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_convert_element_type(input, TENON_TYPE_F32), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_mean(input, mean, 2), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_scale(input, scale, 1), TENON_OK);
  EXPECT_EQ(tenon_preprocess_output_set_element_type(output, TENON_TYPE_I32), TENON_OK);
  char* text = nullptr;
  ASSERT_EQ(tenon_preprocessor_to_text(steps, &text), TENON_OK);
  EXPECT_THAT(taken(text), HasSubstr("mean"));
  tenon_preprocessor_free(steps);  // Its parts keep it alive.
  ASSERT_EQ(tenon_preprocess_input_set_memory_type(input, ""), TENON_OK);
  tenon_preprocess_input_free(input);
  tenon_preprocess_output_free(output);
  ASSERT_EQ(tenon_preprocessor_create(relu, &steps), TENON_OK);
  ASSERT_EQ(tenon_preprocessor_input(steps, "x", &input), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_set_element_type(input, TENON_TYPE_U8), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_set_layout(input, "NHWC"), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_set_model_layout(input, "NCHW"), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_convert_element_type(input, TENON_TYPE_F32), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_mean(input, mean, 2), TENON_OK);
  EXPECT_EQ(tenon_preprocess_input_scale(input, scale, 1), TENON_OK);
  ASSERT_EQ(tenon_preprocessor_build(steps, &whole), TENON_OK) << tenon_last_error_message();

  tenon_compiled_model_t* compiled = nullptr;
  tenon_infer_request_t* request = nullptr;
  ASSERT_EQ(tenon_core_compile_model(core, whole, "REFERENCE", nullptr, &compiled), TENON_OK);
  ASSERT_EQ(tenon_compiled_model_create_infer_request(compiled, &request), TENON_OK);
  unsigned char picture[] = {14, 20, 10, 30, 12, 22, 0, 0};  // Two-channel pixels.
  const std::size_t shape[] = {1, 2, 2, 2};
  tenon_tensor_t *x = nullptr, *y = nullptr;
  ASSERT_EQ(tenon_tensor_wrap(TENON_TYPE_U8, 4, shape, nullptr, picture, nullptr, nullptr, &x), TENON_OK);
  ASSERT_EQ(tenon_infer_request_set_tensor(request, "x", x), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_infer(request), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_get_output_tensor(request, 0, &y), TENON_OK);
  void* data = nullptr;
  ASSERT_EQ(tenon_tensor_data(y, &data), TENON_OK);
  const auto* values = static_cast<const float*>(data);
  // ((channel 0) - 10) / 2 and ((channel 1) - 20) / 2, at least 0.
  EXPECT_THAT(std::vector<float>(values, values + 8), ElementsAre(2, 0, 1, 0, 0, 5, 1, 0));
  tenon_port_info_t info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(tenon_model_input_info(relu, 0, &info), TENON_OK);
  EXPECT_EQ(info.type, TENON_TYPE_F32) << "the model given stays as it is";

  EXPECT_EQ(tenon_preprocess_input_resize(input, 77, 0, 0), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_preprocess_input_convert_colour(input, -1), TENON_INVALID_ARGUMENT);
  const char* names[] = {"y", nullptr};
  EXPECT_EQ(tenon_preprocess_input_set_colour_format(input, TENON_COLOUR_NV12_TWO_PLANES, names, 2),
            TENON_INVALID_ARGUMENT);
  EXPECT_THAT(tenon_last_error_message(), HasSubstr("sub_names[1] is NULL"));
  tenon_preprocess_input_free(input);
  EXPECT_NE(tenon_preprocessor_input(steps, "nope", &input), TENON_OK);
  EXPECT_EQ(input, nullptr);
  for (tenon_tensor_t* tensor : {x, y}) tenon_tensor_free(tensor);
  tenon_infer_request_free(request);
  tenon_compiled_model_free(compiled);
  tenon_preprocessor_free(steps);
  tenon_model_free(whole);
  tenon_model_free(relu);
}

TEST_F(CApiPreprocess, ModelsSeePicturesUpright) {
  const auto xml = serialize(*testing::relu_model(PartialShape{1, 3, 2, 2})).xml;
  tenon_model_t* relu = nullptr;
  tenon_compiled_model_t* compiled = nullptr;
  tenon_infer_request_t* request = nullptr;
  tenon_frame_t* frame = nullptr;
  tenon_tensor_t* y = nullptr;
  ASSERT_EQ(tenon_core_read_model_from_memory(core, xml.data(), xml.size(), nullptr, &relu), TENON_OK);
  ASSERT_EQ(tenon_core_compile_model(core, relu, "REFERENCE", nullptr, &compiled), TENON_OK);
  ASSERT_EQ(tenon_compiled_model_create_infer_request(compiled, &request), TENON_OK);
  unsigned char pixels[2][6] = {{1, 1, 1, 2, 2, 2}, {3, 3, 3, 4, 4, 4}};
  tenon_frame_info_t info{};
  info.struct_size = sizeof info;
  info.fourcc = TENON_FORMAT_BGR24;
  info.width_px = info.height_px = 2;
  info.rotation = TENON_ROTATION_90;
  const tenon_plane_t plane = {pixels, 6};
  ASSERT_EQ(tenon_frame_wrap(&info, &plane, 1, nullptr, nullptr, &frame), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_set_frame(request, "x", frame), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_infer(request), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_infer_request_get_tensor(request, "y", &y), TENON_OK);
  void* data = nullptr;
  ASSERT_EQ(tenon_tensor_data(y, &data), TENON_OK);
  const float* values = static_cast<float*>(data);
  const std::vector<float> seen(values, values + 4);
  EXPECT_GT(seen[1], 0);
  EXPECT_THAT(seen, ElementsAre(3 * seen[1], seen[1], 4 * seen[1], 2 * seen[1])) << "a quarter turn clockwise";
  info.width_px = 4;
  tenon_frame_geometry_t geometry{};
  geometry.struct_size = sizeof geometry;
  ASSERT_EQ(tenon_compiled_model_frame_geometry(compiled, &info, nullptr, &geometry), TENON_OK)
      << tenon_last_error_message();
  EXPECT_EQ(geometry.crop_width, 2u) << "of the upright picture";
  EXPECT_EQ(geometry.crop_height, 4u);
  tenon_tensor_free(y);
  tenon_frame_free(frame);
  tenon_infer_request_free(request);
  tenon_compiled_model_free(compiled);
  tenon_model_free(relu);
}

TEST_F(CApiPreprocess, LayoutsAreTexts) {
  char* text = nullptr;
  ASSERT_EQ(tenon_layout_to_text("nchw", &text), TENON_OK);
  EXPECT_EQ(taken(text), "[N,C,H,W]");
  std::int64_t axis = 0;
  ASSERT_EQ(tenon_layout_axis("N...C", "C", &axis), TENON_OK);
  EXPECT_EQ(axis, -1);
  EXPECT_EQ(tenon_layout_axis("NCHW", "D", &axis), TENON_INVALID_ARGUMENT);
  EXPECT_EQ(tenon_layout_to_text("NN", &text), TENON_INVALID_ARGUMENT);
  tenon_port_t* port = nullptr;
  ASSERT_EQ(tenon_model_input(model, &port), TENON_OK);
  EXPECT_EQ(tenon_model_set_layout(model, port, "NC"), TENON_OK) << tenon_last_error_message();
  ASSERT_EQ(tenon_port_get_layout(port, &text), TENON_OK);
  EXPECT_EQ(taken(text), "[N,C]");
  EXPECT_EQ(tenon_model_set_layout(model, port, "NCHW"), TENON_INVALID_ARGUMENT) << "another rank";
  tenon_port_t* compiled_port = nullptr;
  ASSERT_EQ(tenon_compiled_model_input(compiled_model, &compiled_port), TENON_OK);
  EXPECT_EQ(tenon_model_set_layout(model, compiled_port, "NC"), TENON_NOT_FOUND) << "of another model";
  tenon_port_free(compiled_port);
  tenon_port_free(port);
}

}  // namespace c_api_preprocess_test
}  // namespace tenon::c_api_test
