// SPDX-License-Identifier: Apache-2.0
// Pictures that the GPU device puts out into images: one copy by the device, in the queue of the kernels.
#include <tenon/devices/gpu/testing/pictures.hpp>

namespace tenon::gpu_testing {
namespace image_outputs_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kRows = 6, kColumns = 10;

/// y = x + 1 of a picture [1, 6, 10, channels], or of any size.
std::shared_ptr<Model> output_model(element::Type type, std::size_t channels, bool is_open = false) {
  const auto n = static_cast<std::int64_t>(channels);
  const PartialShape shape = is_open ? PartialShape{1, -1, -1, n} : PartialShape(Shape{1, kRows, kColumns, channels});
  auto x = std::make_shared<op::v0::Parameter>(type, shape);
  x->output(0).set_names({"x"});
  auto sum = make_node("Add", 1, {x, op::v0::Constant::create(type, Shape{}, {1.0})}, {}, "sum");
  sum->output(0).set_names({"y"});
  return std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "picture out");
}

/// Bytes that are numbers of every type, none of them near the end of its range.
Tensor input_of(element::Type type, const Shape& shape) {
  Tensor tensor(type, shape);
  auto* const bytes = static_cast<std::uint8_t*>(tensor.data());
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    const auto value = static_cast<std::uint8_t>(i * 37 % 200);
    if (type == element::u8)
      bytes[i] = value;
    else if (type == element::f16)
      reinterpret_cast<std::uint16_t*>(bytes)[i] = static_cast<std::uint16_t>(0x3C00 + value);  // 1 and a little.
    else
      reinterpret_cast<float*>(bytes)[i] = value;
  }
  return tensor;
}

std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  Tensor packed = tensor;
  if (tensor.is<RemoteTensor>()) {
    packed = Tensor();
    tensor.as<RemoteTensor>().copy_to(packed);
  }
  const auto* const begin = static_cast<const std::uint8_t*>(packed.data());
  return {begin, begin + packed.size_bytes()};
}

/// What the same model puts out into host memory.
std::vector<std::uint8_t> expected(Core& core, ClContext& context, const std::shared_ptr<Model>& model,
                                   const Tensor& input) {
  auto request = core.compile_model(model, context).create_infer_request();
  request.set_input_tensor(input);
  request.infer();
  return bytes_of(request.get_output_tensor(0));
}

/// What was booked as copied into images.
std::uint64_t into_images(InferRequest& request) {
  for (const LedgerEntry& entry : request.ledger().snapshot())
    if (entry.name == "GPU: to image") return entry.copied;
  return 0;
}

TEST_F(Pictures, OfEveryTypeArePutIntoImages) {
  ClContext context(core);
  std::size_t formats = 0;
  for (const element::Type type : {element::u8, element::f16, element::f32}) {
    for (const std::size_t channels : {1, 2, 3, 4}) {
      const Shape shape{1, kRows, kColumns, channels};
      ClImage2DTensor image;
      try {
        image = context.create_image_tensor(type, shape);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kUnimplemented) << error.what();
        continue;
      }
      ++formats;
      const auto model = output_model(type, channels);
      const Tensor input = input_of(type, shape);
      auto request = core.compile_model(model, context).create_infer_request();
      request.set_input_tensor(input);
      request.set_output_tensor(0, image);
      request.infer();
      EXPECT_EQ(bytes_of(image), expected(core, context, model, input)) << type.to_string() << " " << channels;
      EXPECT_EQ(into_images(request), image.size_bytes());
      EXPECT_EQ(request.ledger().total().copied, image.size_bytes());
    }
  }
  EXPECT_GT(formats, 3u);
}

/// A larger image: what is beside the picture stays.
TEST_F(Pictures, ArePutIntoAPartOfAnImage) {
  ClContext context(core);
  const auto model = output_model(element::u8, 1);
  const Tensor input = input_of(element::u8, Shape{1, kRows, kColumns, 1});
  const RemoteTensor whole = context.create_image_tensor(element::u8, Shape{1, kRows + 4, kColumns + 6, 1});
  Tensor fives(element::u8, whole.shape());
  std::memset(fives.data(), 5, fives.size_bytes());
  RemoteTensor(whole).copy_from(fives);
  const RemoteTensor part(whole, {0, 3, 2, 0}, {1, 3 + kRows, 2 + kColumns, 1});
  auto request = core.compile_model(model, context).create_infer_request();
  request.set_input_tensor(input);
  request.set_output_tensor(0, part);
  request.infer();
  const std::vector<std::uint8_t> wanted = expected(core, context, model, input), found = bytes_of(whole);
  for (std::size_t y = 0; y < kRows + 4; ++y) {
    for (std::size_t x = 0; x < kColumns + 6; ++x) {
      const bool inside = y >= 3 && y < 3 + kRows && x >= 2 && x < 2 + kColumns;
      EXPECT_EQ(found[y * (kColumns + 6) + x], inside ? wanted[(y - 3) * kColumns + x - 2] : 5) << y << " " << x;
    }
  }
}

/// The application's image and queue: what it enqueues next reads the picture, and the host does not wait.
TEST_F(Pictures, OutInTheApplicationsQueueAreThereForItsNextCommand) {
  ClContext context(core, app.queue);
  const auto model = output_model(element::f32, 1);
  const Tensor input = input_of(element::f32, Shape{1, kRows, kColumns, 1});
  const cl_mem target = app.image(CL_R, CL_FLOAT, kColumns, kRows, nullptr);
  ASSERT_NE(target, nullptr);
  auto request = core.compile_model(model, context).create_infer_request();
  request.set_input_tensor(input);
  request.set_output_tensor(0, context.create_image_tensor(element::f32, input.shape(), target));
  request.start_async();
  std::vector<float> found(kRows * kColumns);
  const std::size_t origin[3] = {}, size[3] = {kColumns, kRows, 1};
  ASSERT_EQ(clEnqueueReadImage(app.queue, target, CL_TRUE, origin, size, 0, 0, found.data(), 0, nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(request.ledger().total().waits, 0u);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], input.data<float>()[i] + 1);
  request.wait();
  clReleaseMemObject(target);
}

/// From an image into an image, by one model after another.
TEST_F(Pictures, OutOfOneModelAreReadByTheNext) {
  ClContext context(core);
  const auto model = output_model(element::u8, 1);
  const Tensor input = input_of(element::u8, Shape{1, kRows, kColumns, 1});
  const RemoteTensor first = context.create_image_tensor(element::u8, input.shape()),
                     second = context.create_image_tensor(element::u8, input.shape());
  RemoteTensor(first).copy_from(input);
  auto compiled = core.compile_model(model, context);
  for (const auto& [from, to] : {std::pair{first, second}, std::pair{second, first}}) {
    auto request = compiled.create_infer_request();
    request.set_input_tensor(from);
    request.set_output_tensor(0, to);
    request.infer();
    EXPECT_EQ(request.ledger().total().copied, into_images(request));
    EXPECT_EQ(request.ledger().total().transferred, 0u);
  }
  const std::vector<std::uint8_t> found = bytes_of(first);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], input.data<std::uint8_t>()[i] + 2);
}

TEST_F(Pictures, OutOfModelsOfOpenShapes) {
  ClContext context(core);
  const auto model = output_model(element::u8, 1, true);
  const Tensor input = input_of(element::u8, Shape{1, kRows, kColumns, 1});
  const RemoteTensor image = context.create_image_tensor(element::u8, input.shape());
  auto request = core.compile_model(model, context).create_infer_request();
  request.set_output_tensor(0, image);
  request.set_input_tensor(input);
  request.infer();
  const std::vector<std::uint8_t> found = bytes_of(image);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], input.data<std::uint8_t>()[i] + 1);
  request.set_input_tensor(input_of(element::u8, Shape{1, kRows, kColumns + 2, 1}));
  EXPECT_THAT(error_of([&] { request.infer(); }).what(), HasSubstr("too small"));
}

TEST_F(Pictures, OutIntoImagesAreACopyThatRequireForbids) {
  ClContext context(core);
  const auto model = output_model(element::u8, 1);
  const RemoteTensor image = context.create_image_tensor(element::u8, Shape{1, kRows, kColumns, 1});
  auto strict = core.compile_model(model, context, zero_copy(ZeroCopy::kRequire)).create_infer_request();
  strict.set_output_tensor(0, image);
  EXPECT_THAT(error_of([&] { strict.infer(); }).what(),
              AllOf(HasSubstr("require"), HasSubstr("60 bytes"), HasSubstr("give the output a buffer")));
  strict.set_output_tensor(0, context.create_tensor(element::u8, image.shape()));
  strict.infer();
  EXPECT_EQ(strict.ledger().total().copied, 0u);
  // An image of another type than the output's, and one of another cl_context.
  auto request = core.compile_model(model, context).create_infer_request();
  EXPECT_THAT(error_of([&] {
                request.set_output_tensor(0, context.create_image_tensor(element::f32, Shape{1, kRows, kColumns, 1}));
              }).what(),
              HasSubstr("type"));
  Application other;
  ClContext elsewhere(core, other.context);
  EXPECT_THAT(
      error_of([&] { request.set_output_tensor(0, elsewhere.create_image_tensor(element::u8, image.shape())); }).what(),
      HasSubstr("cl_context"));
}

TEST_F(Pictures, EveryCallOfAnInferenceIntoAnImageMayFail) {
  ClContext context(core);
  auto compiled = core.compile_model(output_model(element::u8, 1), context);
  const Tensor input = input_of(element::u8, Shape{1, kRows, kColumns, 1});
  testing::fail_each_call<opencl::client::Probe>(
      "CL_OUT_OF_RESOURCES",
      [&] {
        const RemoteTensor image = context.create_image_tensor(element::u8, input.shape());
        auto request = compiled.create_infer_request();
        request.set_input_tensor(input);
        request.set_output_tensor(0, image);
        request.infer();
        return bytes_of(image);
      },
      [&](const std::vector<std::uint8_t>& found) {
        for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], input.data<std::uint8_t>()[i] + 1);
      });
}

}  // namespace image_outputs_test
}  // namespace tenon::gpu_testing
