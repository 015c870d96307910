// SPDX-License-Identifier: Apache-2.0
// FFmpeg frame -> SYCL USM -> kernel: rgb_to_grayscale clip [out.gray]. FFmpeg's decoder writes its pictures into USM, swscale
// writes RGB beside them in USM, and a kernel in a SYCL queue makes grey of it. Tenon copies nothing, and the host
// waits for a kernel only where it reads the kernel's output. The grey pictures go to `out.gray`, one after the other:
//   ffplay -f rawvideo -pixel_format gray -video_size WIDTHxHEIGHT out.gray
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

extern "C" {
#include <libswscale/swscale.h>
}

#include <tenon/bridges/sycl_opencl/sycl_opencl.hpp>
#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>

namespace {

using namespace tenon;
namespace tsycl = tenon::sycl;  // ::sycl is SYCL's own.

constexpr int kNotHere = 77;

/// A kernel in OpenCL C for SYCL's queues, so that any C++ compiler builds this. With a SYCL compiler a lambda takes its
/// place: handler.parallel_for(range, [=](::sycl::item<2> at) {...}).
class ToGrey {
 public:
  explicit ToGrey(const Context& device) {
    const char* source =
        "kernel void to_grey(global const uchar* rgb, ulong pitch, global uchar* grey) {\n"
        "  const ulong x = get_global_id(0), y = get_global_id(1);\n"
        "  const global uchar* p = rgb + y * pitch + 3 * x;\n"
        "  grey[y * get_global_size(0) + x] = (299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000;\n"
        "}\n";
    const Context opencl = sycl_opencl::opencl_context(device);
    cl_program program = clCreateProgramWithSource(opencl::handle(opencl), 1, &source, nullptr, nullptr);
    clBuildProgram(program, 0, nullptr, "", nullptr, nullptr);
    kernel_ = clCreateKernel(program, "to_grey", nullptr);
    clReleaseProgram(program);
    cl_platform_id platform = nullptr;
    clGetDeviceInfo(opencl::device(opencl).id, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr);
    set_pointer_ = reinterpret_cast<SetPointer>(
        clGetExtensionFunctionAddressForPlatform(platform, "clSetKernelArgMemPointerINTEL"));
    if (!kernel_ || !set_pointer_) throw Error(Code::kUnimplemented, "no kernel over USM on this device");
  }
  ~ToGrey() { clReleaseKernel(kernel_); }
  ToGrey(const ToGrey&) = delete;
  ToGrey& operator=(const ToGrey&) = delete;

  /// Starts the kernel after all work on both tensors; the host does not wait.
  void start(const Context& device, const Tensor& rgb, const Tensor& grey) const {
    ::sycl::queue queue = tsycl::queue(device);
    const ::sycl::event done = queue.submit([&](::sycl::handler& handler) {
      handler.depends_on(tsycl::depends_on(rgb, Access::kRead));
      handler.depends_on(tsycl::depends_on(grey, Access::kWrite));
      handler.host_task([this, from = tsycl::usm_pointer(rgb), to = tsycl::usm_pointer(grey),
                         pitch = static_cast<cl_ulong>(rgb.byte_strides()[0]), width = grey.shape()[1],
                         height = grey.shape()[0]](const ::sycl::interop_handle& native) {
        set_pointer_(kernel_, 0, from);
        clSetKernelArg(kernel_, 1, sizeof pitch, &pitch);
        set_pointer_(kernel_, 2, to);
        const std::size_t items[] = {width, height};
        const cl_command_queue commands = native.get_native_queue<::sycl::backend::opencl>();
        clEnqueueNDRangeKernel(commands, kernel_, 2, nullptr, items, nullptr, 0, nullptr, nullptr);
        clFinish(commands);
      });
    });
    tsycl::reads(rgb, done);
    tsycl::wrote(grey, done);
  }

 private:
  using SetPointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, const void*);
  cl_kernel kernel_ = nullptr;
  SetPointer set_pointer_ = nullptr;
};

/// A frame in USM that the host and the device share.
Frame usm_frame(const Context& device, const FrameInfo& info) {
  Requirements wanted;
  wanted.pitch_alignment = 64;
  wanted.host_access = true;
  wanted.size_bytes = Frame::size_bytes_for(info, wanted);
  return Frame::over(info, device->allocate(wanted), wanted);
}

using Scaler = std::unique_ptr<SwsContext, decltype(&sws_freeContext)>;

/// FFmpeg writes RGB of `picture` into `rgb`: it only needs an AVFrame over the USM.
void convert(Scaler& scaler, const Frame& picture, const Frame& rgb) {
  const ffmpeg::FramePtr from = ffmpeg::av_frame(picture), to = ffmpeg::av_frame(rgb);
  scaler.reset(sws_getCachedContext(scaler.release(), from->width, from->height,
                                    static_cast<AVPixelFormat>(from->format), to->width, to->height,
                                    static_cast<AVPixelFormat>(to->format), SWS_BILINEAR, nullptr, nullptr, nullptr));
  if (!scaler ||
      sws_scale(scaler.get(), from->data, from->linesize, 0, from->height, to->data, to->linesize) != to->height)
    throw Error(Code::kUnimplemented, "swscale makes no RGB of " + to_string(picture.info().format));
}

/// The same on the CPU, for the example's own proof.
bool is_right(const Tensor& rgb, const Tensor& grey) {
  const auto pitch = static_cast<std::size_t>(rgb.byte_strides()[0]);
  for (std::size_t y = 0; y < grey.shape()[0]; ++y) {
    for (std::size_t x = 0; x < grey.shape()[1]; ++x) {
      const unsigned char* p = static_cast<const unsigned char*>(rgb.data()) + y * pitch + 3 * x;
      if (grey.data<unsigned char>()[y * grey.shape()[1] + x] != (299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000)
        return false;
    }
  }
  return true;
}

int run(const Context& device, const char* clip, const char* out) {
  Router router;
  for (const Context& each : {device, host_context(), ffmpeg::context()}) router.add(each);
  Ledger ledger;
  MapOptions in_place{Access::kReadWrite, ZeroCopy::kRequire, &ledger};

  ffmpeg::Options options;
  options.ledger = &ledger;
  ffmpeg::Video video = ffmpeg::open(clip, options);
  Requirements wanted;
  wanted.host_access = true;
  video.use_pool(wanted, device);  // The decoder allocates its pictures in USM.
  FrameInfo rgb_info = video.info();
  rgb_info.format = kRgb24;
  const Frame rgb = usm_frame(device, rgb_info);
  const Tensor grey =
      tsycl::allocate(device, tsycl::UsmType::kShared, {element::u8, {rgb_info.height_px, rgb_info.width_px}, {}});

  const ToGrey to_grey(device);
  Scaler scaler(nullptr, &sws_freeContext);
  std::ofstream file;
  if (out) file.open(out, std::ios::binary);
  std::size_t frames = 0;
  bool right = true;
  for (const Frame& picture : video) {
    rgb.plane(0).memory()->wait_for(Access::kWrite, default_deadline());  // The previous kernel reads it.
    convert(scaler, picture, rgb);
    to_grey.start(device, rgb.plane(0), grey);
    const Tensor seen = router.map(grey, host_context(), in_place);  // Waits for the kernel.
    right = right && is_right(rgb.plane(0), seen);
    file.write(static_cast<const char*>(seen.data()), static_cast<std::streamsize>(seen.size_bytes()));
    ++frames;
  }
  std::printf("%s on %s: %zu pictures of %ux%u, %llu bytes copied, grey is %s\n", video.path().c_str(),
              std::string(device->name()).c_str(), frames, rgb_info.width_px, rgb_info.height_px,
              static_cast<unsigned long long>(ledger.total().copied), right ? "right" : "wrong");
  return right && frames > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: rgb_to_grayscale clip [out.gray]\n");
    return 2;
  }
  try {
    return run(tsycl::make_context(), argv[1], argc > 2 ? argv[2] : nullptr);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.code() == Code::kUnavailable ? kNotHere : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
