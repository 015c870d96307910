// SPDX-License-Identifier: Apache-2.0
// The GPU device's contexts over a VADisplay and tensors over its surfaces, with a driver that decodes: in C++ and in C.
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <tenon/bindings/c/tenon.h>
#include <tenon/devices/gpu/public/va.hpp>
#include <tenon/runtime/core.hpp>
#include <tenon/tests/va/decoded.hpp>
#include <tenon/tests/va/va_fixture.hpp>

namespace tenon::va_test {
namespace gpu_test {

/// y = f32(x) of u8 [1, h, w, c], as IR without weights.
std::string model_for(const Shape& shape) {
  std::string dims, text;
  for (const std::size_t extent : shape) {
    dims += "<dim>" + std::to_string(extent) + "</dim>";
    text += (text.empty() ? "" : ",") + std::to_string(extent);
  }
  return "<?xml version=\"1.0\"?><net name=\"plane\" version=\"11\"><layers>"
         "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"" +
         text + "\" element_type=\"u8\"/><output><port id=\"0\" precision=\"U8\" names=\"x\">" + dims +
         "</port></output></layer>"
         "<layer id=\"1\" name=\"y\" type=\"Convert\" version=\"opset1\"><data destination_type=\"f32\"/>"
         "<input><port id=\"0\" precision=\"U8\">" +
         dims + "</port></input><output><port id=\"1\" precision=\"FP32\" names=\"y\">" + dims +
         "</port></output></layer>"
         "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\"><input><port id=\"0\" "
         "precision=\"FP32\">" +
         dims +
         "</port></input></layer></layers><edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
         "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";
}

/// The shape of plane `number` of a surface of 4:2:0.
Shape shape_of(const Frame& frame, unsigned number) {
  const std::size_t height = frame.info().height_px, width = frame.info().width_px;
  return number == 0 ? Shape{1, height, width, 1} : Shape{1, height / 2, width / 2, 2};
}

void expect_values(const float* values, const Tensor& plane) {
  const std::vector<std::byte> expected = read(plane);
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(std::to_integer<int>(expected[i]))) << "element " << i;
}

/// Nothing where no GPU here can use the display's surfaces, and why.
class VaGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      intel_gpu::ocl::VAContext(core, vaapi::display(context()));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Core core;
  const Frame frame = decoded();
};

TEST_F(VaGpu, PlanesOfDecodedSurfacesAreReadInPlace) {
  intel_gpu::ocl::VAContext remote(core, vaapi::display(context()));
  EXPECT_EQ(remote.get_params().at("CONTEXT_TYPE").as<std::string>(), "VA_SHARED");
  EXPECT_EQ(static_cast<void*>(remote), vaapi::display(context()));
  const VASurfaceID surface = vaapi::surface(frame);
  auto [luma, chroma] = remote.create_tensor_nv12(frame.info().height_px, frame.info().width_px, surface);
  EXPECT_EQ(static_cast<std::uint32_t>(chroma), surface);
  EXPECT_EQ(chroma.plane(), 1u);
  for (unsigned number = 0; number < 2; ++number) {
    const Tensor plane = number == 0 ? Tensor(luma) : Tensor(chroma);
    ASSERT_EQ(plane.shape(), shape_of(frame, number));
    auto request =
        core.compile_model(core.read_model(model_for(plane.shape()), Tensor()), remote).create_infer_request();
    request.set_tensor("x", plane);
    request.infer();
    expect_values(request.get_tensor("y").data<float>(), frame.plane(number));
    LedgerEntry total = request.ledger().total();
    EXPECT_EQ(total.copied, 0u) << request.ledger().report();
  }
  try {
    remote.create_tensor(element::u8, shape_of(frame, 0), 0x7fffffu, 0);
    ADD_FAILURE() << "no such surface";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("invalid VASurfaceID"), std::string::npos) << error.what();
  }
}

TEST_F(VaGpu, PlanesOfDecodedSurfacesAreReadInPlaceInC) {
  tenon_core_t* c = nullptr;
  tenon_remote_context_t* remote = nullptr;
  ASSERT_EQ(tenon_core_create(&c), TENON_OK);
  ASSERT_EQ(tenon_core_create_context(c, "GPU", 4, &remote, "CONTEXT_TYPE", "VA_SHARED", "VA_DEVICE",
                                      vaapi::display(context())),
            TENON_OK)
      << tenon_last_error_message();
  for (int number = 0; number < 2; ++number) {
    const Shape shape = shape_of(frame, static_cast<unsigned>(number));
    const std::string text = model_for(shape);
    tenon_tensor_t *plane = nullptr, *result = nullptr;
    ASSERT_EQ(tenon_remote_context_create_tensor(remote, TENON_TYPE_U8, 4, shape.data(), 6, &plane, "SHARED_MEM_TYPE",
                                                 "VA_SURFACE", "DEV_OBJECT_HANDLE", vaapi::surface(frame), "VA_PLANE",
                                                 number),
              TENON_OK)
        << tenon_last_error_message();
    tenon_model_t* model = nullptr;
    tenon_compiled_model_t* compiled = nullptr;
    tenon_infer_request_t* request = nullptr;
    ASSERT_EQ(tenon_core_read_model_from_memory(c, text.data(), text.size(), nullptr, &model), TENON_OK);
    ASSERT_EQ(tenon_core_compile_model_in_context(c, model, remote, nullptr, &compiled), TENON_OK)
        << tenon_last_error_message();
    ASSERT_EQ(tenon_compiled_model_create_infer_request(compiled, &request), TENON_OK);
    ASSERT_EQ(tenon_infer_request_set_tensor(request, "x", plane), TENON_OK) << tenon_last_error_message();
    ASSERT_EQ(tenon_infer_request_infer(request), TENON_OK) << tenon_last_error_message();
    ASSERT_EQ(tenon_infer_request_get_tensor(request, "y", &result), TENON_OK);
    void* values = nullptr;
    ASSERT_EQ(tenon_tensor_data(result, &values), TENON_OK) << tenon_last_error_message();
    expect_values(static_cast<const float*>(values), frame.plane(static_cast<std::size_t>(number)));
    tenon_tensor_free(result);
    tenon_tensor_free(plane);
    tenon_infer_request_free(request);
    tenon_compiled_model_free(compiled);
    tenon_model_free(model);
  }
  tenon_tensor_t* none = nullptr;
  const std::size_t shape[] = {1, 16, 16, 1};
  EXPECT_EQ(tenon_remote_context_create_tensor(remote, TENON_TYPE_U8, 4, shape, 6, &none, "SHARED_MEM_TYPE",
                                               "VA_SURFACE", "DEV_OBJECT_HANDLE", 0x7fffff, "VA_PLANE", 0),
            TENON_INVALID_ARGUMENT);
  EXPECT_EQ(none, nullptr);
  tenon_remote_context_free(remote);
  tenon_core_free(c);
}

}  // namespace gpu_test
}  // namespace tenon::va_test
