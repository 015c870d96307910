// SPDX-License-Identifier: Apache-2.0
// Decoded pictures on the GPU device: planes in images and buffers, every colour and resize, batches of surfaces; the
// CPU device is the judge.
#include <tenon/core/carried_formats.hpp>
#include <tenon/devices/gpu/testing/pictures.hpp>

namespace tenon::gpu_testing {
namespace pictures_test {

using ::testing::HasSubstr;

TEST_F(Pictures, EveryColourAndEveryResizeIsTheCpusToOneStep) {
  ClContext context(core);
  const ColorFormat all[] = {ColorFormat::NV12_TWO_PLANES,
                             ColorFormat::NV12_SINGLE_PLANE,
                             ColorFormat::I420_THREE_PLANES,
                             ColorFormat::I420_SINGLE_PLANE,
                             ColorFormat::RGB,
                             ColorFormat::BGR,
                             ColorFormat::RGBX,
                             ColorFormat::BGRX,
                             ColorFormat::GRAY};
  unsigned seed = 0;
  for (const ColorFormat from : all) {
    for (const ColorFormat to : {ColorFormat::RGB, ColorFormat::BGR, ColorFormat::GRAY}) {
      const bool is_x = from == ColorFormat::RGBX || from == ColorFormat::BGRX;
      if ((from == ColorFormat::GRAY) != (to == ColorFormat::GRAY) && from == ColorFormat::GRAY) continue;
      if (is_x && to == ColorFormat::GRAY) continue;
      for (const ResizeAlgorithm resize :
           {ResizeAlgorithm::RESIZE_LINEAR, ResizeAlgorithm::RESIZE_CUBIC, ResizeAlgorithm::RESIZE_NEAREST,
            ResizeAlgorithm::RESIZE_BILINEAR_PILLOW, ResizeAlgorithm::RESIZE_BICUBIC_PILLOW}) {
        const bool is_odd = ++seed % 2 != 0;
        const Picture picture{from, to, resize, is_odd, seed % 3 != 0, 1};
        SCOPED_TRACE(::testing::Message() << "from " << static_cast<int>(from) << " to " << static_cast<int>(to)
                                          << " by " << static_cast<int>(resize) << (is_odd ? " NCHW" : " NHWC"));
        const auto model = with_preprocessing(picture);
        auto compiled = core.compile_model(model, context, enable_profiling(true));
        auto request = compiled.create_infer_request();
        const std::vector<Tensor> planes = random_planes(compiled, seed);
        const Placing placings[] = {on_host, at_a_pitch, in_image};
        std::vector<std::vector<Tensor>> given;
        for (std::size_t i = 0; i < planes.size(); ++i) {
          given.push_back({planes[i]});
          request.set_input_tensor(i, placings[seed % 3](context, planes[i]));
        }
        request.infer();
        EXPECT_LE(largest_step(values_of(request.get_output_tensor(0)), judged(model, given)), 1);
        EXPECT_EQ(request.ledger().total().copied, 0u);
        // What RGB is grey of is a weighted sum, which is the first kernel then.
        const bool is_sum = to == ColorFormat::GRAY && (from == ColorFormat::RGB || from == ColorFormat::BGR);
        if (!is_sum) {
          const bool is_stage = resize == ResizeAlgorithm::RESIZE_LINEAR || resize == ResizeAlgorithm::RESIZE_NEAREST;
          EXPECT_EQ(first_kernel_of(request), is_stage ? "input_stage" : "interpolate");
        }
      }
    }
  }
}

TEST_F(Pictures, PlanesMayLieWhereverTheyAre) {
  ClContext context(core);
  for (const ColorFormat from : {ColorFormat::NV12_TWO_PLANES, ColorFormat::I420_SINGLE_PLANE, ColorFormat::RGBX}) {
    const auto model = with_preprocessing({from, ColorFormat::RGB});
    auto compiled = core.compile_model(model, context);
    auto request = compiled.create_infer_request();
    for (const Placing& placing : {Placing(in_image), Placing(at_a_pitch), Placing(in_buffer), Placing(in_image),
                                   Placing(in_part_of_an_image)}) {
      const std::vector<Tensor> planes = random_planes(compiled, 7);
      std::vector<std::vector<Tensor>> given;
      for (std::size_t i = 0; i < planes.size(); ++i) {
        given.push_back({planes[i]});
        request.set_input_tensor(i, placing(context, planes[i]));
      }
      EXPECT_LE(largest_step(infer_in(context, request), judged(model, given)), 1);
    }
    EXPECT_EQ(moved_beside_results(request.ledger()), 0u);
  }
}

/// The application's images: a pair of NV12, in its own context.
TEST_F(Pictures, ImagesOfTheApplicationsAreReadInPlace) {
  const cl_uint references = app.references();
  {
    ClContext context(core, app.context);
    const auto model = with_preprocessing({});
    auto compiled = core.compile_model(model, context);
    auto request = compiled.create_infer_request();
    const std::vector<Tensor> planes = random_planes(compiled, 3);
    // PoCL has no CL_RG; chroma may be pairs of pixels in CL_R.
    const cl_mem y = app.image(CL_R, CL_UNORM_INT8, kWidth, kHeight, planes[0].data());
    cl_mem uv = app.image(CL_RG, CL_UNORM_INT8, kWidth / 2, kHeight / 2, planes[1].data());
    if (!uv) uv = app.image(CL_R, CL_UNSIGNED_INT8, kWidth, kHeight / 2, planes[1].data());
    auto pair = context.create_tensor_nv12(y, uv);
    EXPECT_EQ(pair.first.get(), y);
    EXPECT_EQ(static_cast<cl_mem>(pair.second), uv);
    EXPECT_EQ(pair.first.shape(), (Shape{1, kHeight, kWidth, 1}));
    EXPECT_EQ(pair.second.shape(), (Shape{1, kHeight / 2, kWidth / 2, 2}));
    EXPECT_EQ(pair.first.get_params().at("SHARED_MEM_TYPE").as<std::string>(), "OCL_IMAGE2D");
    EXPECT_EQ(pair.first.get_params().at("OCL_CONTEXT").as<void*>(), static_cast<void*>(app.context));
    clReleaseMemObject(y), clReleaseMemObject(uv);
    request.set_input_tensor(0, pair.first);
    request.set_input_tensor(1, pair.second);
    EXPECT_LE(largest_step(infer_in(context, request), judged(model, {{planes[0]}, {planes[1]}})), 1);
    EXPECT_EQ(moved_beside_results(request.ledger()), 0u);
    // By keys, as the typed forms do it.
    RemoteTensor again =
        context.create_tensor(element::u8, Shape{kHeight, kWidth},
                              {{"SHARED_MEM_TYPE", "OCL_IMAGE2D"}, {"MEM_HANDLE", static_cast<void*>(y)}});
    Tensor back;
    again.copy_to(back);
    EXPECT_EQ(std::memcmp(back.data(), planes[0].data(), kHeight * kWidth), 0);
  }
  drain_deferred(default_deadline());
  EXPECT_TRUE(app.references_fall_to(references)) << "something still holds the application's context";
}

/// The order of a pixel's bytes in memory is the tensor's, whatever the image calls its components.
TEST_F(Pictures, ImagesOfEveryOrderOfComponents) {
  ClContext context(core, app.context);
  const auto model = with_preprocessing({ColorFormat::BGRX, ColorFormat::BGR});
  auto compiled = core.compile_model(model, context);
  auto request = compiled.create_infer_request();
  const std::vector<Tensor> planes = random_planes(compiled, 5);
  const std::vector<float> wanted = judged(model, {{planes[0]}});
  std::size_t found = 0;
  for (const cl_channel_order order : {CL_RGBA, CL_BGRA, CL_ARGB}) {
    for (const cl_channel_type type : {CL_UNORM_INT8, CL_UNSIGNED_INT8}) {
      const cl_mem image = app.image(order, type, kWidth, kHeight, planes[0].data());
      if (!image) continue;
      ++found;
      request.set_input_tensor(context.create_image_tensor(element::u8, planes[0].shape(), image));
      clReleaseMemObject(image);
      request.infer();
      EXPECT_LE(largest_step(values_of(request.get_output_tensor(0)), wanted), 1) << order << " " << type;
    }
  }
  EXPECT_GT(found, 0u);
}

TEST_F(Pictures, BatchesOfTensorsAreReadWhereTheyLie) {
  ClContext context(core);
  for (const ColorFormat from :
       {ColorFormat::NV12_TWO_PLANES, ColorFormat::I420_THREE_PLANES, ColorFormat::NV12_SINGLE_PLANE, ColorFormat::BGR,
        ColorFormat::RGBX, ColorFormat::GRAY}) {
    const ColorFormat to = from == ColorFormat::GRAY ? ColorFormat::GRAY : ColorFormat::RGB;
    const auto model = with_preprocessing({from, to, ResizeAlgorithm::RESIZE_LINEAR, true, true, 3});
    auto compiled = core.compile_model(model, context);
    auto request = compiled.create_infer_request();
    std::vector<std::vector<Tensor>> given;
    for (const Tensor& plane : random_planes(compiled, 11)) {
      auto& items = given.emplace_back();
      Shape begin(4), end = plane.shape();
      for (std::size_t item = 0; item < 3; ++item) {
        begin[0] = item, end[0] = item + 1;
        Tensor one(element::u8, Shape{1, plane.shape()[1], plane.shape()[2], plane.shape()[3]});
        Tensor(plane, begin, end).copy_to(one);
        items.push_back(one);
      }
    }
    const std::vector<float> wanted = judged(model, given);
    for (const Placing& placing : {Placing(in_buffer), Placing(in_image), Placing(at_a_pitch)}) {
      for (std::size_t i = 0; i < given.size(); ++i) {
        std::vector<Tensor> items;
        for (const Tensor& item : given[i]) items.push_back(placing(context, item));
        request.set_input_tensors(i, items);
      }
      EXPECT_LE(largest_step(infer_in(context, request), wanted), 1) << static_cast<int>(from);
    }
    EXPECT_EQ(moved_beside_results(request.ledger()), 0u) << static_cast<int>(from);
  }
}

TEST_F(Pictures, KernelsForSurfacesAreCompiledWithTheModel) {
  auto context = core.get_default_context("GPU").as<ClContext>();
  const Picture picture{
      ColorFormat::NV12_TWO_PLANES, ColorFormat::RGB, ResizeAlgorithm::RESIZE_CUBIC, false, true, 1, true};
  auto compiled = core.compile_model(with_preprocessing(picture), "GPU");
  const auto built = gpu_device::find_gpu("")->library().counts().built;
  auto request = compiled.create_infer_request();
  auto pair = context.create_tensor_nv12(kHeight, kWidth);
  request.set_input_tensor(0, pair.first);
  request.set_input_tensor(1, pair.second);
  request.infer();
  EXPECT_EQ(gpu_device::find_gpu("")->library().counts().built, built);
}

TEST_F(Pictures, OfAnySizeInModelsOfOpenShapes) {
  ClContext context(core);
  PrePostProcessor p(picture_model(3, true));
  p.input()
      .tensor()
      .set_element_type(element::u8)
      .set_spatial_dynamic_shape()
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
  p.input()
      .preprocess()
      .convert_color(ColorFormat::RGB)
      .convert_element_type(element::f32)
      .resize(ResizeAlgorithm::RESIZE_LINEAR);
  p.input().model().set_layout("NCHW");
  const auto model = p.build();
  auto request = core.compile_model(model, context).create_infer_request();
  std::mt19937 random(6);
  for (const std::size_t height : {20, 8, 20}) {
    std::vector<Tensor> planes{Tensor(element::u8, Shape{1, height, 24, 1}),
                               Tensor(element::u8, Shape{1, height / 2, 12, 2})};
    for (const Tensor& plane : planes)
      std::generate_n(plane.data<std::uint8_t>(), plane.size_bytes(),
                      [&] { return static_cast<std::uint8_t>(random()); });
    const std::vector<float> wanted = judged(model, {{planes[0]}, {planes[1]}});
    for (const Placing& placing :
         {Placing(on_host), Placing(in_buffer), Placing(at_a_pitch), Placing(in_image), Placing(in_part_of_an_image)}) {
      for (std::size_t i = 0; i < 2; ++i) request.set_input_tensor(i, placing(context, planes[i]));
      request.infer();
      EXPECT_LE(largest_step(values_of(request.get_output_tensor(0)), wanted), 1) << height;
    }
  }
  EXPECT_EQ(request.ledger().total().copied, 0u);
}

/// Kernels of matrices want channels last and f16.
TEST_F(Pictures, AConvolutionInHalfReadsPicturesOfImages) {
  std::vector<double> weights(8 * 3 * 3 * 3);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = (static_cast<double>(i % 7) - 3) / 400;
  ClContext context(core);
  for (const std::size_t batch : {1, 2}) {
    auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape(Shape{batch, 3, 12, 16}));
    x->output(0).set_names({"x"});
    auto filter = op::v0::Constant::create(element::f32, Shape{8, 3, 3, 3}, weights);
    const std::vector<std::int64_t> ones{1, 1};
    auto convolution =
        make_node("Convolution", 1, {x, filter},
                  {{"strides", ones}, {"pads_begin", ones}, {"pads_end", ones}, {"dilations", ones}}, "c");
    PrePostProcessor p(std::make_shared<Model>(OutputVector{convolution}, ParameterVector{x}, "convolution"));
    p.input()
        .tensor()
        .set_element_type(element::u8)
        .set_spatial_static_shape(kHeight, kWidth)
        .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"});
    p.input().preprocess().convert_color(ColorFormat::RGB).resize(ResizeAlgorithm::RESIZE_CUBIC);
    p.input().model().set_layout("NCHW");
    const auto model = p.build();
    auto compiled = core.compile_model(model, context, hint::inference_precision(element::f16));
    auto request = compiled.create_infer_request();
    std::vector<std::vector<Tensor>> given;
    for (const Tensor& plane : random_planes(compiled, 4)) {
      auto& items = given.emplace_back();
      std::vector<Tensor> images;
      for (std::size_t item = 0; item < batch; ++item) {
        Tensor one(element::u8, Shape{1, plane.shape()[1], plane.shape()[2], plane.shape()[3]});
        std::memcpy(one.data(), plane.data<std::uint8_t>() + item * one.size_bytes(), one.size_bytes());
        items.push_back(one);
        images.push_back(in_image(context, one));
      }
      request.set_input_tensors(given.size() - 1, images);
    }
    request.infer();
    EXPECT_LE(largest_step(values_of(request.get_output_tensor(0)), judged(model, given)), 0.05);
    EXPECT_EQ(request.ledger().total().copied, 0u);
  }
}

/// Both parts of a partitioned model read inputs in images: the first part counts values, the rest outputs as many as there are.
TEST_F(Pictures, PartsThatValuesDecideReadImages) {
  auto x = std::make_shared<op::v0::Parameter>(element::u8, PartialShape{2, 6, 8, 1});
  const auto number = [](double value) { return op::v0::Constant::create(element::f32, Shape{}, {value}); };
  const auto values = make_node("Convert", 0, {x}, {{"destination_type", element::f32}}, "values");
  const auto bright = make_node("Greater", 1, {values, number(100)}, {}, "bright");
  const auto found = make_node("NonZero", 3, {bright}, {}, "found");
  const auto first = make_node("Gather", 8,
                               {found, op::v0::Constant::create(element::i64, Shape{}, {0}),
                                op::v0::Constant::create(element::i64, Shape{}, {0})},
                               {}, "first");
  const auto picked =
      make_node("Gather", 8, {values, first, op::v0::Constant::create(element::i64, Shape{}, {0})}, {}, "picked");
  const auto sum = make_node("Add", 1, {picked, number(0.5)}, {}, "sum");
  const auto model = std::make_shared<Model>(OutputVector{sum}, ParameterVector{x}, "counted");
  ClContext context(core);
  auto compiled = core.compile_model(model, context);
  auto request = compiled.create_infer_request();
  for (const Placing& placing : {Placing(in_image), Placing(at_a_pitch), Placing(in_buffer), Placing(in_image)}) {
    std::vector<Tensor> items, placed;
    for (std::uint8_t item = 0; item < 2; ++item) {
      Tensor one(element::u8, Shape{1, 6, 8, 1});
      for (std::size_t i = 0; i < 48; ++i) one.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37 + item * 11);
      items.push_back(one);
      placed.push_back(placing(context, one));
    }
    request.set_input_tensors(0, placed);
    request.infer();
    EXPECT_EQ(values_of(request.get_output_tensor(0)), judged(model, {items}));
  }
  const auto steps = compiled.get_runtime_model();
  EXPECT_EQ(steps->get_parameters().size(), 1u);
}

// Samples of 16 bits in any place and order, chroma shared by four columns, alpha that is not read.
TEST_F(Pictures, FramesOfManyFormatsGiveWhatTheCpuGives) {
  ClContext context(core, app.context);
  const auto model = picture_model(3, true);
  auto on_gpu = core.compile_model(model, context).create_infer_request();
  auto on_cpu = core.compile_model(model, "CPU").create_infer_request();
  for (const PixelFormat format : {kI420p10, kY210, kGray16, kI411, kNv12a, kRgb48, kAyuv, big_endian(kI422p16)}) {
    Frame host = Frame::allocate({format, kWidth, kHeight});
    std::mt19937 random(9);
    for (const Tensor& plane : host.planes()) {
      for (std::size_t y = 0; y < plane.shape()[0]; ++y) {
        auto* row = static_cast<std::uint8_t*>(plane.data()) + plane.byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
        std::generate_n(row, plane.size_bytes() / plane.shape()[0],
                        [&] { return static_cast<std::uint8_t>(random()); });
      }
    }
    on_cpu.set_frame("x", host);
    on_cpu.infer();
    on_gpu.set_frame("x", host);
    EXPECT_LE(largest_step(infer_in(context, on_gpu), values_of(on_cpu.get_tensor("y"))), 1)
        << format_info(format).name;
  }
}

TEST_F(Pictures, FramesOfImagesAndOfBuffersAreReadWhereTheyLie) {
  const Context memory = opencl::wrap(app.context, app.queue);
  ClContext context(core, app.context);
  const auto model = picture_model(3, true);
  auto on_gpu = core.compile_model(model, context).create_infer_request();
  auto on_cpu = core.compile_model(model, "CPU").create_infer_request();
  for (const PixelFormat format : {kI420, kRgbx, kNv12, kGray8, kP010}) {
    const FrameInfo info{format, kWidth, kHeight};
    Frame host = Frame::allocate(info);
    std::mt19937 random(9);
    std::vector<Tensor> packed;
    for (std::size_t i = 0; i < host.plane_count(); ++i) {
      packed.emplace_back(host.plane(i).element_type(), host.plane(i).shape());
      std::generate_n(static_cast<std::uint8_t*>(packed[i].data()), packed[i].size_bytes(),
                      [&] { return static_cast<std::uint8_t>(random()); });
      Tensor plane = host.plane(i);
      packed[i].copy_to(plane);
    }
    on_cpu.set_frame("x", host);
    on_cpu.infer();
    const std::vector<float> wanted = values_of(on_cpu.get_tensor("y"));
    std::vector<Frame> frames{host};
    Requirements wide;
    wide.pitch_alignment = 128;
    wide.size_bytes = Frame::size_bytes_for(info, wide);
    frames.push_back(Frame::over(info, memory->allocate(wide), wide));
    try {
      frames.push_back(opencl::allocate_image_frame(opencl::images(memory), info));
    } catch (const Error& error) {  // PoCL lacks CL_RG, of which NV12's chroma is.
      EXPECT_EQ(error.code(), Code::kUnimplemented) << error.what();
    }
    for (Frame& frame : frames) {
      for (std::size_t i = 0; &frame != &frames[0] && i < frame.plane_count(); ++i) {
        const auto* const bytes = static_cast<const std::byte*>(packed[i].data());
        frame.plane(i).context()->write(frame.plane(i), {bytes, packed[i].size_bytes()});
      }
      on_gpu.set_frame("x", frame);
      const LedgerEntry before = on_gpu.ledger().total();
      EXPECT_LE(largest_step(infer_in(context, on_gpu), wanted), 1)
          << format_info(format).name << " in " << frame.plane(0).kind().name();
      const LedgerEntry after = on_gpu.ledger().total();
      EXPECT_EQ(after.copied, before.copied);
      const bool is_moved = &frame == &frames[0] && opencl::coherency(memory) != opencl::Coherency::kStanding;
      EXPECT_EQ(after.transferred != before.transferred, is_moved) << "only what the host has is moved";
    }
  }
}

TEST_F(Pictures, WhatNoPictureFitsIsRefused) {
  ClContext context(core, app.context);
  const auto message = [](auto&& body) { return std::string(error_of(body).what()); };
  EXPECT_THAT(message([&] { context.create_tensor_nv12(std::size_t{5}, std::size_t{4}); }),
              ::testing::AllOf(HasSubstr("4x5"), HasSubstr("even")));
  EXPECT_THAT(message([&] { context.create_tensor_nv12(nullptr, nullptr); }), HasSubstr("null"));
  const cl_mem image = app.image(CL_R, CL_UNORM_INT8, 8, 6, nullptr),
               odd = app.image(CL_R, CL_UNORM_INT8, 7, 6, nullptr);
  EXPECT_THAT(message([&] { context.create_tensor_nv12(odd, image); }), HasSubstr("7x6"));
  EXPECT_THAT(message([&] { context.create_tensor_nv12(image, odd); }),
              ::testing::AllOf(HasSubstr("7x6"), HasSubstr("too small"), HasSubstr("rows of 8")));
  const auto wrap = [&](element::Type type, const Shape& shape, cl_mem memory) {
    return message([&] { context.create_image_tensor(type, shape, memory); });
  };
  EXPECT_THAT(wrap(element::f32, Shape{6, 8}, image), ::testing::AllOf(HasSubstr("f32"), HasSubstr("does not hold")));
  EXPECT_THAT(wrap(element::u8, Shape{7, 8}, image), ::testing::AllOf(HasSubstr("8x6"), HasSubstr("too small")));
  EXPECT_THAT(wrap(element::u8, Shape{2, 3, 4, 2}, image), HasSubstr("set_tensors"));
  EXPECT_THAT(wrap(element::u8, Shape{6, 8}, nullptr), HasSubstr("Null MEM_HANDLE"));
  const cl_mem four = app.image(CL_RGBA, CL_UNORM_INT8, 8, 6, nullptr), buffer = app.buffer(64);
  EXPECT_THAT(wrap(element::u8, Shape{6, 8}, four), HasSubstr("as many components as samples"));
  EXPECT_THAT(wrap(element::u8, Shape{6, 8}, buffer), HasSubstr("a 2-D image"));
  EXPECT_THAT(message([&] { context.create_tensor(element::u8, Shape{6, 8}, image); }), HasSubstr("a buffer"));
  Application other;
  const cl_mem foreign = other.image(CL_R, CL_UNORM_INT8, 8, 6, nullptr);
  EXPECT_THAT(wrap(element::u8, Shape{6, 8}, foreign), HasSubstr("another cl_context"));
  auto tensor = context.create_image_tensor(element::u8, Shape{1, 6, 8, 1}, image);
  EXPECT_THAT(message([&] { tensor.as<intel_gpu::ocl::ClBufferTensor>(); }), HasSubstr("OCL_IMAGE2D"));
  EXPECT_THAT(message([&] { tensor.set_shape(Shape{1, 3, 8, 1}); }), HasSubstr("on top of an image"));
  for (const cl_mem each : {image, odd, four, buffer, foreign}) clReleaseMemObject(each);
}

TEST_F(Pictures, EveryCallOfAnInferenceOnImagesMayFail) {
  const auto model = with_preprocessing({});
  const std::vector<Tensor> planes = random_planes(core.compile_model(model, "GPU"), 2);
  const std::vector<float> wanted = judged(model, {{planes[0]}, {planes[1]}});
  testing::fail_each_call<opencl::client::Probe>(
      "CL_OUT_OF_RESOURCES",
      [&] {
        auto compiled = core.compile_model(model, "GPU");
        auto context = compiled.get_context().as<ClContext>();
        auto pair = context.create_tensor_nv12(kHeight, kWidth);
        pair.first.copy_from(planes[0]);
        pair.second.copy_from(planes[1]);
        auto request = compiled.create_infer_request();
        request.set_input_tensor(0, pair.first);
        request.set_input_tensor(1, pair.second);
        request.infer();
        return values_of(request.get_output_tensor(0));
      },
      [&](const std::vector<float>& values) { ASSERT_LE(largest_step(values, wanted), 1); });
}

}  // namespace pictures_test
}  // namespace tenon::gpu_testing
