// SPDX-License-Identifier: Apache-2.0
// Programs for surfaces of VA-API: contexts of a VADisplay, planes of a surface as tensors, models on what a decoder leaves there, refusals.
#include <fcntl.h>
#include <unistd.h>
#include <va/va.h>
#include <va/va_drm.h>

#include <openvino/runtime/intel_gpu/ocl/va.hpp>
#include <openvino/runtime/intel_gpu/properties.hpp>

#include "remote.hpp"

namespace va_programs {
namespace {

using ov::intel_gpu::ocl::ClContext;
using ov::intel_gpu::ocl::VAContext;
using ov::intel_gpu::ocl::VASurfaceTensor;

constexpr std::size_t kWidth = 32, kHeight = 16;

void check(VAStatus status, const char* what) {
  if (status != VA_STATUS_SUCCESS) throw std::runtime_error(std::string(what) + ": " + vaErrorStr(status));
}

/// A display, and NV12 surfaces that a decoder would write.
class Decoder {
 public:
  Decoder() : node_(::open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC)), display_(vaGetDisplayDRM(node_)) {
    int major = 0, minor = 0;
    check(vaInitialize(display_, &major, &minor), "vaInitialize");
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    for (VASurfaceID surface : surfaces_) vaDestroySurfaces(display_, &surface, 1);
    vaTerminate(display_);
    ::close(node_);
  }
  VADisplay display() const { return display_; }
  VASurfaceID surface() {
    VASurfaceAttrib format{};
    format.type = VASurfaceAttribPixelFormat;
    format.flags = VA_SURFACE_ATTRIB_SETTABLE;
    format.value.type = VAGenericValueTypeInteger;
    format.value.value.i = VA_FOURCC_NV12;
    VASurfaceID made = VA_INVALID_SURFACE;
    check(vaCreateSurfaces(display_, VA_RT_FORMAT_YUV420, kWidth, kHeight, &made, 1, &format, 1), "vaCreateSurfaces");
    surfaces_.push_back(made);
    return made;
  }
  void decode(VASurfaceID surface, unsigned char luma, unsigned char u, unsigned char v) {
    VAImage image;
    void* mapped = nullptr;
    check(vaDeriveImage(display_, surface, &image), "vaDeriveImage");
    check(vaMapBuffer(display_, image.buf, &mapped), "vaMapBuffer");
    auto* bytes = static_cast<unsigned char*>(mapped);
    for (std::size_t y = 0; y < kHeight; ++y)
      std::fill_n(bytes + image.offsets[0] + y * image.pitches[0], kWidth, luma);
    for (std::size_t y = 0; y < kHeight / 2; ++y)
      for (std::size_t x = 0; x < kWidth; ++x) bytes[image.offsets[1] + y * image.pitches[1] + x] = x % 2 ? v : u;
    check(vaUnmapBuffer(display_, image.buf), "vaUnmapBuffer");
    check(vaDestroyImage(display_, image.image_id), "vaDestroyImage");
    check(vaSyncSurface(display_, surface), "vaSyncSurface");
  }

 private:
  int node_;
  VADisplay display_;
  std::vector<VASurfaceID> surfaces_;
};

std::shared_ptr<ov::Model> picture_model(std::size_t batch) {
  using namespace ov::preprocess;
  PrePostProcessor p(sum_model(ov::Shape{batch, 3, kHeight, kWidth}));
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_color_format(ColorFormat::NV12_TWO_PLANES, {"y", "uv"})
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  p.input().preprocess().convert_color(ColorFormat::BGR);
  p.input().model().set_layout("NCHW");
  return p.build();
}
/// The last pixel of each channel, rounded.
void print_pixels(const char* what, const ov::Tensor& result) {
  const std::size_t plane = kWidth * kHeight;
  std::ostringstream text;
  for (std::size_t i = 1; i * plane <= result.get_size(); ++i)
    text << ' ' << static_cast<int>(result.data<float>()[i * plane - 1] + 0.5F);
  line(what, ' ', result.get_shape(), text.str());
}

void contexts(ov::Core& core) {
  Decoder decoder;
  VAContext context(core, decoder.display());
  ov::RemoteContext by_keys =
      core.create_context("GPU", {ov::intel_gpu::context_type(ov::intel_gpu::ContextType::VA_SHARED),
                                  ov::intel_gpu::va_device(static_cast<void*>(decoder.display()))});
  ov::RemoteContext by_texts =
      core.create_context("GPU", {{"CONTEXT_TYPE", "VA_SHARED"}, {"VA_DEVICE", static_cast<void*>(decoder.display())}});
  for (ov::RemoteContext* each : std::initializer_list<ov::RemoteContext*>{&context, &by_keys, &by_texts})
    line(each->get_device_name().substr(0, 3), ' ', keys(each->get_params()), ' ',
         each->get_params().at("CONTEXT_TYPE").as<std::string>(), ' ',
         each->get_params().at("VA_DEVICE").as<void*>() == decoder.display(), ' ', each->is<VAContext>(), ' ',
         each->is<ClContext>());
  VADisplay display = context;
  VAContext as_one = by_keys.as<VAContext>();
  line(display == decoder.display(), ' ', static_cast<cl_context>(context) != nullptr, ' ', as_one.get() != nullptr);
  refused("no display", [&] { VAContext(core, nullptr); });
  refused("no handle",
          [&] { core.create_context("GPU", {ov::intel_gpu::context_type(ov::intel_gpu::ContextType::VA_SHARED)}); });
  refused("of the wrong class", [&] { core.get_default_context("GPU").as<VAContext>(); });
}

void surfaces(ov::Core& core) {
  Decoder decoder;
  VAContext context(core, decoder.display());
  const VASurfaceID id = decoder.surface();
  auto planes = context.create_tensor_nv12(kHeight, kWidth, id);
  auto luma = context.create_tensor(ov::element::u8, {1, kHeight, kWidth, 1}, id);
  auto chroma = context.create_tensor(ov::element::u8, {1, kHeight / 2, kWidth / 2, 2}, id, 1);
  for (VASurfaceTensor* each : {&planes.first, &planes.second, &luma, &chroma}) {
    VASurfaceID of_tensor = *each;
    line(each->get_element_type(), each->get_shape(), ' ', each->get_size(), ' ',
         each->get_params().at("SHARED_MEM_TYPE").as<std::string>(), ' ', each->plane(), ' ', of_tensor == id, ' ',
         each->is<VASurfaceTensor>(), ' ', each->get_device_name().substr(0, 3));
  }
  // Memory of the context's own, as in any context of OpenCL's.
  auto device = context.create_usm_device_tensor(ov::element::f32, {2, 4});
  line(device.get_shape(), ' ', device.get() != nullptr);
  refused("no such surface", [&] { context.create_tensor_nv12(kHeight, kWidth, id + 1000); });
  refused("no such plane", [&] { context.create_tensor(ov::element::u8, {1, kHeight, kWidth, 1}, id, 7); });
  refused("keys without a surface", [&] {
    context.ov::RemoteContext::create_tensor(ov::element::u8, {1, kHeight, kWidth, 1},
                                             {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"VA_PLANE", 0U}});
  });
  refused("the data", [&] { static_cast<ov::Tensor&>(luma).data(); });
  refused("in a context without a display", [&] {
    core.get_default_context("GPU").create_tensor(
        ov::element::u8, {1, kHeight, kWidth, 1},
        {{"SHARED_MEM_TYPE", "VA_SURFACE"}, {"DEV_OBJECT_HANDLE", id}, {"VA_PLANE", 0U}});
  });
}

/// What a decoder leaves in its surfaces, one after the other and each time anew.
void pictures(ov::Core& core) {
  Decoder decoder;
  VAContext context(core, decoder.display());
  const auto model = picture_model(1);
  ov::CompiledModel compiled = core.compile_model(model, context, ov::hint::inference_precision(ov::element::f32));
  line(compiled.get_context().is<VAContext>());
  const auto y = model->get_parameters().at(0), uv = model->get_parameters().at(1);
  ov::InferRequest request = compiled.create_infer_request();
  const VASurfaceID first = decoder.surface(), second = decoder.surface();
  constexpr unsigned char kColours[][3] = {{126, 128, 128}, {81, 90, 240}, {41, 240, 110}};
  for (const VASurfaceID id : {first, second}) {
    auto planes = context.create_tensor_nv12(kHeight, kWidth, id);
    request.set_tensor(y->get_friendly_name(), planes.first);
    request.set_tensor(uv->get_friendly_name(), planes.second);
    for (const auto& colour : kColours) {
      decoder.decode(id, colour[0], colour[1], colour[2]);
      request.start_async();
      request.wait();
      print_pixels("a picture", request.get_output_tensor());
    }
  }
}

void batch(ov::Core& core) {
  Decoder decoder;
  VAContext context(core, decoder.display());
  const auto model = picture_model(2);
  const auto y = model->get_parameters().at(0), uv = model->get_parameters().at(1);
  ov::InferRequest request =
      core.compile_model(model, context, ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  std::vector<ov::Tensor> luma, chroma;
  for (const unsigned char shade : {126, 235}) {
    const VASurfaceID id = decoder.surface();
    decoder.decode(id, shade, 128, 128);
    auto planes = context.create_tensor_nv12(kHeight, kWidth, id);
    luma.push_back(planes.first);
    chroma.push_back(planes.second);
  }
  request.set_tensors(y->get_friendly_name(), luma);
  request.set_tensors(uv->get_friendly_name(), chroma);
  request.infer();
  print_pixels("a batch", request.get_output_tensor());
}

void luma_alone(ov::Core& core) {
  Decoder decoder;
  VAContext context(core, decoder.display());
  using namespace ov::preprocess;
  PrePostProcessor p(sum_model(ov::Shape{1, 1, kHeight, kWidth}));
  p.input()
      .tensor()
      .set_element_type(ov::element::u8)
      .set_layout("NHWC")
      .set_memory_type(ov::intel_gpu::memory_type::surface);
  p.input().model().set_layout("NCHW");
  ov::InferRequest request =
      core.compile_model(p.build(), context, ov::hint::inference_precision(ov::element::f32)).create_infer_request();
  const VASurfaceID id = decoder.surface();
  decoder.decode(id, 77, 20, 30);
  request.set_input_tensor(context.create_tensor(ov::element::u8, {1, kHeight, kWidth, 1}, id));
  request.infer();
  line(request.get_output_tensor().get_shape(), luma_text(request.get_output_tensor().data<float>()[511], 77));
}

}  // namespace
}  // namespace va_programs

void va(ov::Core& core) {
  run("VA: contexts", [&] { va_programs::contexts(core); });
  run("VA: surfaces", [&] { va_programs::surfaces(core); });
  run("VA: pictures", [&] { va_programs::pictures(core); });
  run("VA: a batch", [&] { va_programs::batch(core); });
  run("VA: luma alone", [&] { va_programs::luma_alone(core); });
}
