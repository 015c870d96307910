// SPDX-License-Identifier: Apache-2.0
// One buffer, many APIs: one_buffer clip model. A picture is decoded into memory with a descriptor; then an OpenCL
// kernel, a cv::UMat, a cv::Mat, DLPack, an ov::Tensor, an AVFrame and a model work on those same bytes. Each reads
// the value that the previous one wrote into the picture's corner, and writes another. Nothing is copied, and each step
// proves it.
#include <cstdio>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/runtime/runtime.hpp>
#ifdef HAS_OPENCL
#include <tenon/frameworks/opencl/contexts.hpp>
#endif
#ifdef HAS_OPENCV
#include <tenon/frameworks/opencv/opencv.hpp>
#endif
#ifdef HAS_OPENCV_OPENCL
#include <tenon/bridges/opencv_opencl/opencv_opencl.hpp>
#endif
#ifdef HAS_DLPACK
#include <tenon/frameworks/dlpack/dlpack.hpp>
#endif
#ifdef HAS_OPENVINO
#include <tenon/frameworks/openvino/openvino.hpp>
#endif

namespace {

using namespace tenon;

/// The state that must stay the same from step to step.
struct Buffer {
  Tensor luma;       // The brightness plane of the picture.
  int expected = 0;  // The value of the corner.

  /// Prints a step's line: the address and the value that it read; fails if either belongs to another buffer.
  void saw(const char* api, const void* address, int value, const Tensor& tensor) const {
    const MemoryIdentity& identity = tensor.memory()->identity();
    std::printf("%-14s address %p  inode %llu  read %3d\n", api, address, static_cast<unsigned long long>(identity.low),
                value);
    if (address != luma.data() || !(identity == luma.memory()->identity()) || value != expected)
      throw Error(Code::kInternal, std::string(api) + " sees another buffer");
  }
};

/// Decodes one picture into memory that has a descriptor. When this returns, the decoder is destroyed, and with it the
/// references that would forbid writing.
Frame decode(const char* clip) {
  ffmpeg::Video video = ffmpeg::open(clip);
  Requirements wanted;
  wanted.fd = FdKind::kMemfd;
  wanted.alignment = 4096;
  video.use_pool(wanted);
  const auto frame = video.read();
  if (!frame) throw Error(Code::kNotFound, std::string(clip) + " holds no picture");
  std::printf("decoded %s, descriptor %d\n", video.path().c_str(), frame->plane(0).memory()->borrow_fd());
  return *frame;
}

/// The options of every map: no copy, not even a cheap one.
const MapOptions kInPlace{Access::kReadWrite, ZeroCopy::kRequire};

#ifdef HAS_OPENCL
void opencl_kernel(Router& router, Buffer& buffer, const Context& context) {
  const Tensor mapped = router.map(buffer.luma, context, kInPlace);
  const cl_mem memory = opencl::buffer(mapped);
  const char* source = "kernel void next(global uchar* y, ulong at) { y[at] += 10; }";
  cl_program program = clCreateProgramWithSource(opencl::handle(context), 1, &source, nullptr, nullptr);
  clBuildProgram(program, 0, nullptr, "", nullptr, nullptr);
  cl_kernel kernel = clCreateKernel(program, "next", nullptr);
  const cl_ulong at = mapped.offset();
  clSetKernelArg(kernel, 0, sizeof memory, &memory);
  clSetKernelArg(kernel, 1, sizeof at, &at);
  const std::size_t items = 1;
  cl_event event = nullptr;
  const opencl::WaitList before = opencl::wait_list(mapped, Access::kReadWrite);
  clEnqueueNDRangeKernel(opencl::queue(context), kernel, 1, nullptr, &items, nullptr, before.size(), before.data(),
                         &event);
  opencl::wrote(mapped, event);  // From now on, mapping the memory to the host waits for it.
  clReleaseEvent(event);
  clReleaseKernel(kernel);
  clReleaseProgram(program);
  buffer.luma.memory()->wait_for(Access::kRead, default_deadline());
  buffer.expected += 10;
  void* host = nullptr;
  clGetMemObjectInfo(memory, CL_MEM_HOST_PTR, sizeof host, &host, nullptr);
  host = static_cast<unsigned char*>(host) + mapped.offset();
  buffer.saw("OpenCL kernel", host, *static_cast<unsigned char*>(host), mapped);
}
#endif

#ifdef HAS_OPENCV_OPENCL
void opencv_umat(Router& router, Buffer& buffer, const Context& opencl) {
  const Context umats = opencv_opencl::make_context(opencl);
  router.add(umats);
  const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(umats));
  const Tensor mapped = router.map(buffer.luma, umats, kInPlace);
  cv::UMat picture = opencv_opencl::umat(mapped);
  {
    const cv::Mat seen = picture.getMat(cv::ACCESS_READ);
    buffer.saw("cv::UMat", seen.data, seen.at<uchar>(0, 0), mapped);
  }
  cv::UMat corner = picture(cv::Rect(0, 0, 16, 16));
  corner.setTo(buffer.expected += 10);  // By OpenCV's kernel, in OpenCV's queue...
  opencv_opencl::wrote(mapped);         // ...for which other uses wait.
}
#endif

#ifdef HAS_OPENCV
void opencv_mat(Buffer& buffer) {
  cv::Mat picture = opencv::mat(buffer.luma);
  buffer.saw("cv::Mat", picture.data, picture.at<uchar>(0, 0), opencv::wrap(picture));
  picture(cv::Rect(0, 0, 16, 16)).setTo(buffer.expected += 10);
}
#endif

#ifdef HAS_DLPACK
void dlpack_tensor(Buffer& buffer) {
  auto* exported = dlpack::export_tensor(buffer.luma);
  auto* corner = static_cast<unsigned char*>(exported->dl_tensor.data);
  buffer.saw("DLPack", corner, *corner, buffer.luma);
  *corner = static_cast<unsigned char>(buffer.expected += 10);
  exported->deleter(exported);
}
#endif

#ifdef HAS_OPENVINO
void openvino_tensor(Router& router, Buffer& buffer) {
  const Tensor mapped = router.map(buffer.luma, openvino::context(), kInPlace);
  const ov::Tensor tensor = openvino::tensor(mapped);
  auto* corner = static_cast<unsigned char*>(const_cast<void*>(tensor.data()));
  buffer.saw("ov::Tensor", corner, *corner, mapped);
  *corner = static_cast<unsigned char>(buffer.expected += 10);
}
#endif

void av_frame(Buffer& buffer, const Frame& frame) {
  const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
  buffer.saw("AVFrame", picture->data[0], *picture->data[0], ffmpeg::wrap(picture.get()).plane(0));
}

/// The model's first kernel reads the planes in place.
std::uint64_t infer(const Frame& frame, const char* path) {
  Core core;
  auto request =
      core.compile_model(path, "CPU", zero_copy(ZeroCopy::kRequire), input_frames(frame.info())).create_infer_request();
  request.set_frame(frame);
  request.infer();
  const Tensor output = request.get_output_tensor(0);
  std::printf("%-14s read the planes in place, gave %s\n", "CPU inference", to_string(output).c_str());
  return core.ledger().total().copied;
}

void without(const char* what) { std::printf("%-14s not here, its step is left out\n", what); }

void run(const char* clip, const char* model) {
  Router router;
  const Frame frame = decode(clip);
  Buffer buffer{frame.plane(0), 100};
  *static_cast<unsigned char*>(buffer.luma.data()) = 100;
#ifdef HAS_OPENCL
  for (const Context& context : opencl::contexts()) router.add(context);
  if (opencl::contexts().empty()) without("OpenCL device");
  if (!opencl::contexts().empty()) opencl_kernel(router, buffer, opencl::contexts().front());
#else
  without("OpenCL");
#endif
#ifdef HAS_OPENCV_OPENCL
  if (!opencl::contexts().empty()) opencv_umat(router, buffer, opencl::contexts().front());
#endif
#ifdef HAS_OPENCV
  opencv_mat(buffer);
#else
  without("OpenCV");
#endif
#ifdef HAS_DLPACK
  dlpack_tensor(buffer);
#endif
#ifdef HAS_OPENVINO
  openvino_tensor(router, buffer);
#else
  without("OpenVINO");
#endif
  av_frame(buffer, frame);
  const std::uint64_t copied = infer(frame, model) + Ledger::process().total().copied;
  std::printf("%llu bytes copied\n", static_cast<unsigned long long>(copied));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: one_buffer clip model\n"), 2;
  try {
    run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "one_buffer: %s\n", describe(error).c_str());
    return 1;
  }
}
