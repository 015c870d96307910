// SPDX-License-Identifier: Apache-2.0
// One buffer, many APIs. A decoder writes a picture into memory with a descriptor; then each API in turn writes every
// byte of it, and all of them must read exactly that, including the kernel through its own mapping of the descriptor.
#include <fcntl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include <tenon/core/router.hpp>
#include <tenon/frameworks/ffmpeg/ffmpeg.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/opencl_installed.hpp>
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

namespace one_buffer_test {

using namespace tenon;
using Bytes = std::vector<unsigned char>;

/// One API over the buffer: the address of its first byte, and its own way to read and, if allowed, to write it all.
struct Face {
  std::string name;
  Tensor tensor;
  const void* address = nullptr;
  std::function<Bytes()> read;
  std::function<void(const Bytes&)> write;
};

/// Different for every byte and every writer.
Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 7;
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
  return bytes;
}

/// y = x, which shows what the device read.
std::shared_ptr<Model> identity_model(const Shape& shape) {
  auto x = std::make_shared<op::v0::Parameter>(element::u8, PartialShape(shape));
  x->output(0).set_names({"x"});
  auto y = std::make_shared<op::v0::Convert>(x->output(0), element::f32);
  return std::make_shared<Model>(ResultVector{std::make_shared<op::v0::Result>(y->output(0))}, ParameterVector{x},
                                 "identity");
}

class OneBuffer : public ::testing::Test {
 protected:
  static constexpr std::size_t kWidth = 640, kHeight = 360;

  void SetUp() override {
    tenon_test::ClipSpec spec;
    spec.width = kWidth;
    spec.height = kHeight;
    spec.frames = 3;
    tenon_test::make_clip(folder.file("clip.mp4"), spec, "g=3:bf=0");
    router.add(host_context());
    ffmpeg::Options options;
    options.ledger = &ledger;
    ffmpeg::Video video = ffmpeg::open(folder.file("clip.mp4"), options);
    // The needs of all parts: the decoder writes, the kernel's mapping needs a descriptor, devices take whole pages.
    router.add(ffmpeg::context());
    std::vector<Party> parties(2, Party{host_context(), {}, Access::kReadWrite});
    parties[0].requirements.fd = FdKind::kMemfd;
    parties[1].requirements.alignment = 4096;
    const AllocationPlan plan = router.plan({ffmpeg::context(), ffmpeg::context()->requirements(), Access::kWrite},
                                            parties, video.info(), ZeroCopy::kRequire);
    ASSERT_TRUE(plan.possible) << plan.explanation;
    EXPECT_EQ(plan.allocator, host_context()) << plan.explanation;
    video.use_pool(plan);
    frame = *video.read();
    EXPECT_THAT(video.path(), ::testing::HasSubstr("memfd")) << "the decoder did not write into our memory";
    // From here on the decoder is gone, and only we refer to the picture.
    options_in_place.access = Access::kReadWrite;
    options_in_place.policy = ZeroCopy::kRequire;
    options_in_place.ledger = &ledger;
  }

  const Tensor& luma() const { return frame.plane(0); }
  Tensor map(const Context& context) { return router.map(luma(), context, options_in_place); }

  void expect_the_buffer(const Face& face) {
    SCOPED_TRACE(face.name);
    EXPECT_EQ(face.address, luma().data()) << "another address";
    EXPECT_EQ(face.tensor.memory(), luma().memory()) << "another memory";
    EXPECT_EQ(face.tensor.memory()->identity(), luma().memory()->identity());
    EXPECT_EQ(face.tensor.memory()->identity().kind, MemoryIdentity::Kind::kInode);
  }

  /// Rows of luma from any address with its pitch.
  Bytes rows_at(const void* first, std::size_t pitch) const {
    Bytes bytes(kWidth * kHeight);
    for (std::size_t y = 0; y < kHeight; ++y)
      std::memcpy(&bytes[y * kWidth], static_cast<const unsigned char*>(first) + y * pitch, kWidth);
    return bytes;
  }
  void set_rows_at(void* first, std::size_t pitch, const Bytes& bytes) const {
    for (std::size_t y = 0; y < kHeight; ++y)
      std::memcpy(static_cast<unsigned char*>(first) + y * pitch, &bytes[y * kWidth], kWidth);
  }
  std::size_t pitch() const { return static_cast<std::size_t>(luma().byte_strides()[0]); }

  /// The witness independent of our libraries: a second mapping of the descriptor.
  Face kernel_face();
  Face av_frame_face();
  Face device_face();
#ifdef HAS_OPENCL
  std::optional<Face> opencl_face();
#endif
#ifdef HAS_OPENCV
  Face mat_face();
#endif
#ifdef HAS_OPENCV_OPENCL
  std::optional<Face> umat_face();
#endif
#ifdef HAS_DLPACK
  Face dlpack_face();
#endif
#ifdef HAS_OPENVINO
  Face openvino_face();
#endif

  tenon_test::Folder folder;
  Ledger ledger;
  Router router;
  Frame frame;
  MapOptions options_in_place;
  Core core;
  std::vector<std::string> absent;
};

Face OneBuffer::kernel_face() {
  const Memory& memory = *luma().memory();
  struct stat status {};
  EXPECT_EQ(::fstat(memory.borrow_fd(), &status), 0);
  EXPECT_EQ(memory.identity().high, status.st_dev);
  EXPECT_EQ(memory.identity().low, status.st_ino);
  const std::size_t size = memory.size_bytes();
  void* base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.borrow_fd(), 0);
  EXPECT_NE(base, MAP_FAILED);
  const std::shared_ptr<unsigned char> mapping(static_cast<unsigned char*>(base),
                                               [size](unsigned char* address) { ::munmap(address, size); });
  unsigned char* const first = mapping.get() + luma().offset();
  return {"a second mmap of the descriptor", luma(), luma().data(),
          [this, mapping, first] { return rows_at(first, pitch()); },
          [this, mapping, first](const Bytes& bytes) { set_rows_at(first, pitch(), bytes); }};
}

/// An AVFrame for each access only: while FFmpeg refers to the buffer, no other API may write it.
Face OneBuffer::av_frame_face() {
  const auto picture = [this] { return ffmpeg::av_frame(frame, default_deadline(), &ledger); };
  const ffmpeg::FramePtr first = picture();
  // The lease goes with the AVFrame; the memory remains.
  const Tensor plane = ffmpeg::wrap(first.get()).plane(0);
  return {"AVFrame", Tensor(plane.info(), plane.memory(), plane.offset()), first->data[0],
          [this, picture] {
            const ffmpeg::FramePtr seen = picture();
            return rows_at(seen->data[0], static_cast<std::size_t>(seen->linesize[0]));
          },
          [this, picture](const Bytes& bytes) {
            const ffmpeg::FramePtr target = picture();
            set_rows_at(target->data[0], static_cast<std::size_t>(target->linesize[0]), bytes);
          }};
}

Face OneBuffer::device_face() {
  // Rows are padded, and a device only takes packed tensors in place: the plane including its padding is packed.
  const std::size_t row = pitch();
  const Tensor whole({element::u8, {kHeight, row}, {}}, luma().memory(), luma().offset(), luma().lease());
  auto request =
      core.compile_model(identity_model(whole.shape()), "CPU", zero_copy(ZeroCopy::kRequire)).create_infer_request();
  request.set_tensor("x", whole);
  const auto read = [row, request]() mutable {
    request.infer();
    const auto* values = request.get_output_tensor(0).data<float>();
    Bytes bytes(kWidth * kHeight);
    for (std::size_t y = 0; y < kHeight; ++y)
      std::transform(values + y * row, values + y * row + kWidth, &bytes[y * kWidth],
                     [](float value) { return static_cast<unsigned char>(value); });
    return bytes;
  };
  const Tensor input = request.get_tensor("x");
  return {"CPU device", input, input.data(), read, {}};
}

#ifdef HAS_OPENCL
/// Kernels of ours, compiled from source, in the user's queue.
class Kernels {
 public:
  explicit Kernels(const Context& context) : context_(context) {
    const char* source =
        "kernel void move(global const uchar* from, ulong from_at, ulong from_pitch,\n"
        "                 global uchar* to, ulong to_at, ulong to_pitch) {\n"
        "  to[to_at + get_global_id(1) * to_pitch + get_global_id(0)] =\n"
        "      from[from_at + get_global_id(1) * from_pitch + get_global_id(0)];\n"
        "}\n";
    cl_int status = CL_SUCCESS;
    program_ = clCreateProgramWithSource(opencl::handle(context), 1, &source, nullptr, &status);
    EXPECT_EQ(clBuildProgram(program_, 0, nullptr, "", nullptr, nullptr), CL_SUCCESS);
    kernel_ = clCreateKernel(program_, "move", &status);
    EXPECT_EQ(status, CL_SUCCESS);
  }
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  ~Kernels() {
    clReleaseKernel(kernel_);
    clReleaseProgram(program_);
  }

  /// One kernel that reads rows of `from` and writes them as rows of `to`.
  void move(const Tensor& from, const Tensor& to) {
    const cl_mem source = opencl::buffer(from), target = opencl::buffer(to);
    const cl_ulong places[] = {from.offset(), static_cast<cl_ulong>(from.byte_strides()[0]), to.offset(),
                               static_cast<cl_ulong>(to.byte_strides()[0])};
    clSetKernelArg(kernel_, 0, sizeof source, &source);
    clSetKernelArg(kernel_, 1, sizeof(cl_ulong), &places[0]);
    clSetKernelArg(kernel_, 2, sizeof(cl_ulong), &places[1]);
    clSetKernelArg(kernel_, 3, sizeof target, &target);
    clSetKernelArg(kernel_, 4, sizeof(cl_ulong), &places[2]);
    clSetKernelArg(kernel_, 5, sizeof(cl_ulong), &places[3]);
    const std::size_t items[] = {from.shape()[1], from.shape()[0]};
    const opencl::WaitList before = opencl::wait_list(from, Access::kRead);
    opencl::wait_list(to, Access::kWrite);
    cl_event event = nullptr;
    ASSERT_EQ(clEnqueueNDRangeKernel(opencl::queue(context_), kernel_, 2, nullptr, items, nullptr, before.size(),
                                     before.data(), &event),
              CL_SUCCESS);
    opencl::wrote(to, event);
    opencl::reads(from, event);
    clReleaseEvent(event);
  }

 private:
  Context context_;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
};

std::optional<Face> OneBuffer::opencl_face() {
  const auto contexts = opencl::contexts();
  if (contexts.empty()) {
    absent.push_back("OpenCL: no device");
    return std::nullopt;
  }
  const Context context = contexts.front();
  router.add(context);
  const Tensor mapped = map(context);
  const auto kernels = std::make_shared<Kernels>(context);
  Requirements wanted;
  wanted.size_bytes = kWidth * kHeight;
  // The kernel's other argument: the source when it writes the buffer, the target when it reads it.
  const Tensor other({element::u8, {kHeight, kWidth}, {}}, context->allocate(wanted));
  void* host = nullptr;
  EXPECT_EQ(clGetMemObjectInfo(opencl::buffer(mapped), CL_MEM_HOST_PTR, sizeof host, &host, nullptr), CL_SUCCESS);
  return Face{"OpenCL kernel", mapped, static_cast<unsigned char*>(host) + mapped.offset(),
              [kernels, mapped, other, context] {
                kernels->move(mapped, other);
                Bytes bytes(kWidth * kHeight);
                context->read(other, std::as_writable_bytes(std::span(bytes)));
                return bytes;
              },
              [this, kernels, mapped, other, context](const Bytes& bytes) {
                context->write(other, std::as_bytes(std::span(bytes)));
                kernels->move(other, mapped);
                luma().memory()->wait_for(Access::kReadWrite, default_deadline());
              }};
}
#endif

#ifdef HAS_OPENCV
Face OneBuffer::mat_face() {
  const cv::Mat mat = opencv::mat(luma(), {Access::kReadWrite, &ledger, Deadline::max()});
  return {"cv::Mat", opencv::wrap(mat), mat.data,
          [mat] {
            cv::Mat packed;
            mat.copyTo(packed);
            return Bytes(packed.datastart, packed.dataend);
          },
          [mat](const Bytes& bytes) {
            cv::Mat target = mat;
            cv::Mat(target.size(), CV_8U, const_cast<unsigned char*>(bytes.data())).copyTo(target);
          }};
}
#endif

#ifdef HAS_OPENCV_OPENCL
std::optional<Face> OneBuffer::umat_face() {
  if (opencl::contexts().empty()) {
    absent.push_back("cv::UMat: no OpenCL device");
    return std::nullopt;
  }
  const Context context = opencv_opencl::make_context(opencl::contexts().front());
  router.add(context);
  const Tensor mapped = map(context);
  const auto scoped = [context](const std::function<void(const Tensor&)>& body, const Tensor& tensor) {
    const cv::ocl::OpenCLExecutionContextScope scope(opencv_opencl::execution(context));
    body(tensor);
  };
  const unsigned char* address = nullptr;
  scoped([&](const Tensor& tensor) { address = opencv_opencl::umat(tensor).getMat(cv::ACCESS_READ).data; }, mapped);
  return Face{"cv::UMat", mapped, address,
              [scoped, mapped] {
                cv::Mat packed;
                // By a kernel of OpenCV: adds 1 and subtracts it again, in 16 bits.
                scoped(
                    [&](const Tensor& tensor) {
                      cv::UMat wide, back;
                      opencv_opencl::umat(tensor, Access::kRead).convertTo(wide, CV_16S, 1, 1);
                      wide.convertTo(back, CV_8U, 1, -1);
                      back.copyTo(packed);
                    },
                    mapped);
                return Bytes(packed.datastart, packed.dataend);
              },
              [this, scoped, mapped](const Bytes& bytes) {
                scoped(
                    [&](const Tensor& tensor) {
                      cv::UMat source, target = opencv_opencl::umat(tensor);
                      cv::Mat(target.size(), CV_8U, const_cast<unsigned char*>(bytes.data())).copyTo(source);
                      cv::bitwise_not(source, source);
                      cv::bitwise_not(source, target);
                      opencv_opencl::wrote(tensor);
                    },
                    mapped);
                luma().memory()->wait_for(Access::kReadWrite, default_deadline());
              }};
}
#endif

#ifdef HAS_DLPACK
Face OneBuffer::dlpack_face() {
  dlpack::ExportOptions options;
  options.ledger = &ledger;
  auto* managed = dlpack::export_tensor(luma(), options);
  const std::shared_ptr<dlpack::abi::DLManagedTensorVersioned> exported(
      managed, [](dlpack::abi::DLManagedTensorVersioned* gone) { gone->deleter(gone); });
  const auto row = static_cast<std::size_t>(managed->dl_tensor.strides[0]);
  return {"DLPack", luma(), managed->dl_tensor.data,
          [this, exported, row] { return rows_at(exported->dl_tensor.data, row); },
          [this, exported, row](const Bytes& bytes) { set_rows_at(exported->dl_tensor.data, row, bytes); }};
}
#endif

#ifdef HAS_OPENVINO
Face OneBuffer::openvino_face() {
  const Tensor mapped = map(openvino::context());
  const ov::Tensor native = openvino::tensor(mapped);
  return {"ov::Tensor", mapped, native.data(),
          [native] {
            Bytes bytes(native.get_size());
            native.copy_to(ov::Tensor(native.get_element_type(), native.get_shape(), bytes.data()));
            return bytes;
          },
          [native](const Bytes& bytes) {
            ov::Tensor(native.get_element_type(), native.get_shape(), const_cast<unsigned char*>(bytes.data()))
                .copy_to(native);
          }};
}
#endif

TEST_F(OneBuffer, WhatOneApiWritesAllOthersRead) {
  const std::uint64_t before = Ledger::process().total().copied + Ledger::process().total().transferred;
  std::vector<Face> faces;
  faces.push_back(kernel_face());
  faces.push_back(av_frame_face());
#ifdef HAS_OPENCL
  if (auto face = opencl_face()) faces.push_back(std::move(*face));
#endif
#ifdef HAS_OPENCV
  faces.push_back(mat_face());
#endif
#ifdef HAS_OPENCV_OPENCL
  if (auto face = umat_face()) faces.push_back(std::move(*face));
#endif
#ifdef HAS_DLPACK
  faces.push_back(dlpack_face());
#endif
#ifdef HAS_OPENVINO
  faces.push_back(openvino_face());
#endif
  try {
    faces.push_back(device_face());
  } catch (const Error& error) {
    if (error.code() != Code::kUnavailable && error.code() != Code::kNotFound) throw;
    absent.push_back(std::string("CPU device: ") + error.what());
  }
  for (const Face& face : faces) expect_the_buffer(face);

  const Bytes decoded = faces.front().read();
  EXPECT_GT(std::set<unsigned char>(decoded.begin(), decoded.end()).size(), 8u) << "nothing was decoded";
  for (const Face& reader : faces) EXPECT_EQ(reader.read(), decoded) << reader.name << " does not see the picture";
  unsigned seed = 1;
  for (const Face& writer : faces) {
    if (!writer.write) continue;
    const Bytes written = pattern(kWidth * kHeight, seed++);
    writer.write(written);
    for (const Face& reader : faces)
      EXPECT_EQ(reader.read(), written) << reader.name << " does not see what " << writer.name << " wrote";
  }
  EXPECT_EQ(ledger.total().copied, 0u) << ledger.report();
  EXPECT_EQ(ledger.total().transferred, 0u) << ledger.report();
  EXPECT_EQ(core.ledger().total().copied, 0u) << core.ledger().report();
  EXPECT_EQ(Ledger::process().total().copied + Ledger::process().total().transferred, before);
  // The kernel's mapping, FFmpeg and the CPU device, and each API that this build has: none may be missing unnoticed.
  const std::size_t built = 3
#ifdef HAS_OPENCL
                            + 1
#endif
#ifdef HAS_OPENCV
                            + 1
#endif
#ifdef HAS_OPENCV_OPENCL
                            + 1
#endif
#ifdef HAS_DLPACK
                            + 1
#endif
#ifdef HAS_OPENVINO
                            + 1
#endif
      ;
  EXPECT_EQ(faces.size() + absent.size(), built);
  for (const std::string& reason : absent) {
    std::printf("not here: %s\n", reason.c_str());
#ifdef HAS_CPU_DEVICE
    EXPECT_EQ(reason.find("CPU device"), std::string::npos) << reason;
#endif
    EXPECT_FALSE(opencl_is_installed() && reason.find("OpenCL") != std::string::npos) << reason;
  }
  std::printf("proved for %zu APIs\n", faces.size());
}

#if defined(HAS_OPENCL) && defined(HAS_OPENVINO)
TEST(OvTensorsAndOpenCl, ShareByTheAllocatorAndNotByLuck) {
  const auto contexts = opencl::contexts();
  if (contexts.empty()) {
    ASSERT_FALSE(opencl_is_installed()) << "a driver of OpenCL is installed, and gives no device";
    GTEST_SKIP() << "no OpenCL device is here";
  }
  Router router;
  router.add(host_context());
  router.add(openvino::context());
  router.add(contexts.front());
  alignas(128) static unsigned char bytes[128 + 64 * 64];
  // malloc may align to 32 bytes and no more.
  const Tensor unlucky = openvino::wrap(ov::Tensor(ov::element::u8, ov::Shape{64, 64}, bytes + 32));
  const std::string text = router.explain(describe(unlucky), contexts.front());
  EXPECT_NE(text.find("aligned to 32 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("openvino::allocator()"), std::string::npos) << text;
  if (text.find("of its own") != std::string::npos) GTEST_SKIP() << "this device shares no host memory:\n" << text;
  std::vector<ov::Tensor> kept;
  for (int i = 0; i < 32; ++i) {
    kept.emplace_back(ov::element::u8, ov::Shape{64, static_cast<std::size_t>(33 + i)},
                      openvino::allocator(contexts.front()));
    MapOptions options;
    options.policy = ZeroCopy::kRequire;
    EXPECT_NO_THROW(router.map(openvino::wrap(kept.back()), contexts.front(), options));
  }
}
#endif

TEST_F(OneBuffer, IsNotWrittenWhileFfmpegRefersToIt) {
  const ffmpeg::FramePtr picture = ffmpeg::av_frame(frame);
  EXPECT_FALSE(luma().is_writable());
#ifdef HAS_OPENCV
  EXPECT_THROW(opencv::mat(luma()), Error);
  EXPECT_EQ(opencv::mat(luma(), Access::kRead).data, picture->data[0]);
#endif
}

TEST_F(OneBuffer, GoesBackToItsPoolWhenTheLastApiLetsGo) {
  const Memory* memory = luma().memory().get();
  Lease lease = luma().lease();
  {
    std::vector<Face> faces;
#ifdef HAS_OPENCV
    faces.push_back(mat_face());
#endif
#ifdef HAS_DLPACK
    faces.push_back(dlpack_face());
#endif
#ifdef HAS_OPENVINO
    faces.push_back(openvino_face());
#endif
    if (faces.empty()) GTEST_SKIP() << "this build has none of OpenCV, DLPack and OpenVINO";
    frame = {};
    EXPECT_GT(lease->ref_count(), 1u) << "no API holds the decoder's buffer";
    EXPECT_EQ(faces.back().tensor.memory().get(), memory);
    // Each API by itself holds the buffer, not the decoder's frame.
    while (faces.size() > 1) faces.erase(faces.begin());
    EXPECT_GT(lease->ref_count(), 1u);
  }
  EXPECT_EQ(lease->ref_count(), 1u) << "someone still holds the buffer";
}

}  // namespace one_buffer_test
