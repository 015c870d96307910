// SPDX-License-Identifier: Apache-2.0
// DL Streamer's contexts and mappers over the frameworks of this machine: what is shared, what is copied, and what keeps what. Among them
// the chains of its document, FFmpeg to USM and GStreamer to cv::UMat.
#include "dlstreamer/ffmpeg/context.h"
#include "dlstreamer/ffmpeg/mappers/ffmpeg_to_vaapi.h"
#include "dlstreamer/gst/frame_batch.h"
#include "dlstreamer/gst/mappers/any_to_gst.h"
#include "dlstreamer/gst/mappers/gst_to_cpu.h"
#include "dlstreamer/gst/mappers/gst_to_dma.h"
#include "dlstreamer/gst/mappers/gst_to_opencl.h"
#include "dlstreamer/gst/mappers/gst_to_vaapi.h"
#include "dlstreamer/level_zero/mappers/dma_to_usm.h"
#include "dlstreamer/level_zero/mappers/usm_to_dma.h"
#include "dlstreamer/opencl/mappers/dma_to_opencl.h"
#include "dlstreamer/opencl/mappers/opencl_to_cpu.h"
#include "dlstreamer/opencl/mappers/opencl_to_dma.h"
#include "dlstreamer/opencl/tensor_ref_counted.h"
#include "dlstreamer/opencl/utils.h"
#include "dlstreamer/opencv/mappers/cpu_to_opencv.h"
#include "dlstreamer/opencv_umat/mappers/opencl_to_opencv_umat.h"
#include "dlstreamer/openvino/frame.h"
#include "dlstreamer/openvino/mappers/cpu_to_openvino.h"
#include "dlstreamer/openvino/mappers/opencl_to_openvino.h"
#include "dlstreamer/openvino/mappers/openvino_to_cpu.h"
#include "dlstreamer/openvino/mappers/vaapi_to_openvino.h"
#include "dlstreamer/vaapi/frame_alloc.h"
#include "dlstreamer/vaapi/mappers/dma_to_vaapi.h"
#include "dlstreamer/vaapi/mappers/vaapi_to_dma.h"
#include "dlstreamer/vaapi/utils.h"

#include "dlstreamer/cpu/frame_alloc.h"
#include "dlstreamer/cpu/utils.h"
#include "dlstreamer/d3d11/tensor.h"
#include "dlstreamer/memory_mapper_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <opencv2/core.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset13.hpp>

#include <tenon/core/deferred.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/frameworks/ffmpeg/testing/clip.hpp>
#include <tenon/tests/support/expects_dmabufs.hpp>
#include <tenon/tests/support/opencl_installed.hpp>

namespace dls_frameworks_test {

using namespace dlstreamer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

uint64_t copied() { return tenon::Ledger::process().total().copied + tenon::Ledger::process().total().transferred; }

TensorPtr counting(const TensorInfo& info) {
  const auto tensor = std::make_shared<CPUTensorAlloc>(info);
  auto* bytes = static_cast<uint8_t*>(tensor->data());
  std::iota(bytes, bytes + info.nbytes(), uint8_t{0});
  return tensor;
}
/// The bytes of an image's planes, without padding.
std::vector<uint8_t> pixels(const FramePtr& frame) {
  std::vector<uint8_t> all;
  for (const TensorPtr& plane : frame) {
    const TensorInfo& info = plane->info();
    for (size_t row = 0; row < info.shape[0]; ++row) {
      const auto* begin = static_cast<const uint8_t*>(plane->data()) + row * info.stride[0];
      all.insert(all.end(), begin, begin + info.shape[1] * info.shape[2]);
    }
  }
  return all;
}
/// Different everywhere.
void paint(const FramePtr& frame, int seed) {
  for (const TensorPtr& plane : frame) {
    const TensorInfo& info = plane->info();
    for (size_t row = 0; row < info.shape[0]; ++row)
      for (size_t i = 0; i < info.shape[1] * info.shape[2]; ++i)
        static_cast<uint8_t*>(plane->data())[row * info.stride[0] + i] =
            static_cast<uint8_t>(row * 7 + i + static_cast<size_t>(seed));
  }
}
const FrameInfo kNv12(ImageFormat::NV12, MemoryType::CPU, {TensorInfo({48, 64, 1}), TensorInfo({24, 32, 2})});

TEST(DlsOpenCV, MatsLieOverTheBytesAndKeepThem) {
  const auto before = copied();
  TensorPtr tensor = counting(TensorInfo({1, 6, 8, 3}));
  const std::weak_ptr<Tensor> source = tensor;
  auto mapped = MemoryMapperCPUToOpenCV().map(tensor, AccessMode::ReadWrite);
  cv::Mat mat = *ptr_cast<OpenCVTensor>(mapped);
  EXPECT_EQ(mat.size(), cv::Size(8, 6));
  EXPECT_EQ(mat.type(), CV_8UC3) << "a batch of one is a picture";
  EXPECT_EQ(mat.data, tensor->data());
  EXPECT_EQ(mapped->info(), tensor->info());
  EXPECT_EQ(reinterpret_cast<cv::Mat*>(mapped->handle(tensor::key::cv_mat))->data, mat.data);
  tensor = mapped = nullptr;
  EXPECT_TRUE(source.expired());
  EXPECT_EQ(mat.at<cv::Vec3b>(1, 2), cv::Vec3b(30, 31, 32)) << "a Mat keeps the memory by itself";
  const TensorPtr back = TensorPtr(std::make_shared<OpenCVTensor>(mat)).map(std::make_shared<CPUContext>());
  EXPECT_EQ(back->data(), mat.data);
  EXPECT_THAT(back->info().shape, ElementsAre(6, 8, 3));
  EXPECT_EQ(copied(), before);
  EXPECT_THAT(error_of([] { data_type_to_opencv(DataType::Int64); }), HasSubstr("64-bit"));
}

class DlsOpenCL : public ::testing::Test {
 protected:
  void SetUp() override {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    if (clGetPlatformIDs(1, &platform, nullptr) || clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr)) {
      ASSERT_FALSE(tenon::opencl_is_installed());
      GTEST_SKIP() << "no OpenCL device";
    }
    native = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    context = std::make_shared<OpenCLContext>(native);
    is_shared = tenon::opencl::coherency(context->native()) == tenon::opencl::Coherency::kStanding;
  }
  void TearDown() override {
    if (!native) return;
    context = nullptr;
    EXPECT_EQ(clReleaseContext(native), CL_SUCCESS);
  }
  /// References when the driver has let go of what its finished commands held.
  static cl_uint references(cl_mem buffer) {
    cl_uint count = 0;
    for (int i = 0; i < 60000 && count != 1; ++i) {
      tenon::drain_deferred(tenon::default_deadline());
      clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr);
      if (count != 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return count;
  }

  cl_context native = nullptr;
  OpenCLContextPtr context;
  ContextPtr cpu = std::make_shared<CPUContext>();
  bool is_shared = false;
};

TEST_F(DlsOpenCL, BuffersAreSharedWithTheHostWhereTheDeviceIs) {
  EXPECT_EQ(context->handle(OpenCLContext::key::cl_context), native);
  EXPECT_EQ(OpenCLContext::create(context), context);
  const auto before = copied();
  const TensorPtr tensor = counting(TensorInfo({4096}));
  const auto buffer = tensor.map<OpenCLTensor>(context);
  uint8_t seen[16];
  ASSERT_EQ(clEnqueueReadBuffer(context->queue(), *buffer, CL_TRUE, buffer->offset() + 100, sizeof seen, seen, 0,
                                nullptr, nullptr),
            CL_SUCCESS);
  EXPECT_EQ(seen[15], 115);
  const uint8_t written = 9;
  ASSERT_EQ(clEnqueueWriteBuffer(context->queue(), buffer->clmem(), CL_TRUE, buffer->offset(), 1, &written, 0, nullptr,
                                 nullptr),
            CL_SUCCESS);
  const TensorPtr back = TensorPtr(buffer).map(cpu);
  EXPECT_EQ(back->data<uint8_t>()[0], 9);
  EXPECT_EQ(copied() == before, is_shared) << "what is not shared is in the ledger";
}

TEST_F(DlsOpenCL, TensorsBorrowBuffersOrTakeTheirReferences) {
  cl_mem buffer = clCreateBuffer(native, CL_MEM_READ_WRITE, 256, nullptr, nullptr);
  { TensorPtr(std::make_shared<OpenCLTensor>(TensorInfo({256}), context, buffer)).map(cpu); }
  EXPECT_EQ(references(buffer), 1u);
  clRetainMemObject(buffer);
  { TensorPtr(std::make_shared<OpenCLTensorRefCounted>(TensorInfo({256}), context, buffer)).map(cpu); }
  EXPECT_EQ(references(buffer), 1u);
  clReleaseMemObject(buffer);
  const TensorPtr made = std::make_shared<OpenCLTensorRefCounted>(TensorInfo({300}, DataType::Float32), context);
  made.map(cpu)->data<float>()[299] = 2.5f;
  if (is_shared) {
    EXPECT_EQ(made.map(cpu, AccessMode::Read)->data<float>()[299], 2.5f);
  }
  EXPECT_THAT(error_of([&] { made->handle("cv_mat"); }), HasSubstr("OpenCL memory has no handle 'cv_mat'"));
  EXPECT_EQ(num_channels_to_opencl(4), static_cast<cl_channel_order>(CL_RGBA));
  EXPECT_EQ(data_type_to_opencl(DataType::Float32), static_cast<cl_channel_type>(CL_FLOAT));
}

TEST_F(DlsOpenCL, DescriptorsAreBuffersAndComeBack) {
  const ContextPtr dma = DMAContext::create();
  tenon::Requirements wanted;
  wanted.size_bytes = 8192;
  const tenon::Tensor memory({tenon::ElementType::kU8, {2, 4096}, {}}, tenon::dmabuf::context()->allocate(wanted));
  const TensorPtr tensor = std::make_shared<DMATensor>(memory, dma);
  const auto buffer = ptr_cast<OpenCLTensor>(MemoryMapperDMAToOpenCL(dma, context).map(tensor, AccessMode::ReadWrite));
  const uint8_t written = 77;
  ASSERT_EQ(clEnqueueWriteBuffer(context->queue(), *buffer, CL_TRUE, buffer->offset() + 4096, 1, &written, 0, nullptr,
                                 nullptr),
            CL_SUCCESS);
  if (!is_shared) return;
  EXPECT_EQ(tensor.map(AccessMode::Read)->data<uint8_t>({1, 0})[0], 77);
  EXPECT_EQ(ptr_cast<DMATensor>(MemoryMapperOpenCLToDMA(context, dma).map(TensorPtr(buffer), AccessMode::Read))->info(),
            tensor->info());
}

TEST_F(DlsOpenCL, UMatsWorkOnTheSameBuffer) {
  const auto umats = OpenCVUMatContext::create(context);
  create_mapper({cpu, context, umats});
  TensorPtr tensor = counting(TensorInfo({8, 16, 3})).map(cpu);
  auto mapped = tensor.map<OpenCVUMatTensor>(umats);
  cv::UMat umat = *mapped;
  EXPECT_EQ(umat.size(), cv::Size(16, 8));
  cv::add(umat, cv::Scalar(1, 2, 3), umat);
  EXPECT_EQ(ptr_cast<OpenCLTensor>(mapped->parent())->clmem(), umat.handle(cv::ACCESS_READ));
  umat.release();
  const TensorPtr back = TensorPtr(mapped).map(cpu, AccessMode::Read);
  EXPECT_EQ(back->data<uint8_t>({0, 1})[2], 5 + 3);
  EXPECT_EQ(mapped->handle(OpenCVUMatTensor::key::cv_umat), reinterpret_cast<Tensor::handle_t>(mapped->handle()));
  EXPECT_THAT(error_of([&] { OpenCVUMatContext::create(cpu); }), HasSubstr("no cl_context"));
}

TEST(DlsFFmpeg, FramesAreMappedInPlaceAndFreedOnce) {
  const auto before = copied();
  AVFrame* frame = av_frame_alloc();
  frame->format = AV_PIX_FMT_NV12;
  frame->width = 62;
  frame->height = 46;
  ASSERT_EQ(av_frame_get_buffer(frame, 0), 0);
  std::fill_n(frame->data[0], frame->linesize[0] * 46, uint8_t{200});
  frame->data[1][frame->linesize[1] * 3 + 5] = 33;
  const ContextPtr ffmpeg = std::make_shared<FFmpegContext>(), cpu = std::make_shared<CPUContext>();
  uint8_t* const luma = frame->data[0];
  FramePtr source = std::make_shared<FFmpegFrame>(frame, true, ffmpeg);
  EXPECT_THAT(source->tensor(1)->info().shape, ElementsAre(23, 31, 2));
  const FramePtr mapped = source.map(cpu, AccessMode::Read);
  const TensorPtr plane = source->tensor(0);
  source = nullptr;
  EXPECT_EQ(mapped->tensor(0)->data(), luma);
  EXPECT_EQ(mapped->tensor(1)->data<uint8_t>({3, 2})[1], 33);
  EXPECT_EQ(mapped->format(), static_cast<Format>(ImageFormat::NV12));
  EXPECT_EQ(plane.map(cpu, AccessMode::Read)->data(), luma);
  EXPECT_EQ(copied(), before);
  EXPECT_THAT(error_of([] { FFmpegFrame(static_cast<AVFrame*>(nullptr)); }), HasSubstr("null"));
  EXPECT_THAT(error_of([] { FFmpegContext("nothing"); }), HasSubstr("nothing"));
}

class DlsVaapi : public ::testing::Test {
 protected:
  static tenon::Context& opened() {
    static tenon::Context context = tenon::vaapi::open();
    return context;
  }
  VAAPIContextPtr va = std::make_shared<VAAPIContext>(tenon::vaapi::display(opened()));
  ContextPtr dma = DMAContext::create(va), cpu = std::make_shared<CPUContext>();
};

TEST_F(DlsVaapi, SurfacesAreDescriptorsAndSurfacesAgain) {
  EXPECT_TRUE(va->is_valid());
  EXPECT_EQ(va->handle(VAAPIContext::key::va_display), va->va_display());
  const auto before = copied();
  const FramePtr frame = std::make_shared<VAAPIFrameAlloc>(kNv12, va);
  EXPECT_NE(ptr_cast<VAAPIFrame>(frame)->va_surface(), VA_INVALID_SURFACE);
  EXPECT_EQ(ptr_cast<VAAPITensor>(frame->tensor(1))->plane_index(), 1);
  const FramePtr host = frame.map(cpu);
  paint(host, 3);
  const FramePtr descriptors = MemoryMapperVAAPIToDMA(va, dma).map(frame, AccessMode::Read);
  EXPECT_EQ(pixels(descriptors.map(cpu, AccessMode::Read)), pixels(host));
  EXPECT_EQ(descriptors->tensor(1)->info().shape, kNv12.tensors[1].shape);
  const FramePtr again = MemoryMapperDMAToVAAPI(dma, va).map(descriptors, AccessMode::Read);
  EXPECT_EQ(again->memory_type(), MemoryType::VAAPI);
  EXPECT_EQ(pixels(again.map(cpu, AccessMode::Read)), pixels(host));
  EXPECT_EQ(copied(), before);
  EXPECT_EQ(again->parent(), descriptors);
  EXPECT_THAT(error_of([&] { frame->tensor(0).map(cpu); }), HasSubstr("map the frame"));
  EXPECT_THAT(error_of([] { VAAPIContext(static_cast<void*>(nullptr)); }), HasSubstr("VADisplay"));
  EXPECT_THAT(error_of([] { VA_CALL(VA_STATUS_ERROR_INVALID_SURFACE); }),
              HasSubstr("VA_STATUS_ERROR_INVALID_SURFACE failed"));
  EXPECT_THAT(error_of([] { video_format_to_vaapi(ImageFormat::RGB); }), HasSubstr("RGB"));
  EXPECT_EQ(vaapi_video_format_to_rtformat(video_format_to_vaapi(ImageFormat::NV12)),
            static_cast<uint32_t>(VA_RT_FORMAT_YUV420));
}

TEST_F(DlsVaapi, ASurfaceOfTheProgramsIsBorrowed) {
  VASurfaceID surface = VA_INVALID_SURFACE;
  VA_CALL(vaCreateSurfaces(va->va_display(), VA_RT_FORMAT_YUV420, 64, 48, &surface, 1, nullptr, 0));
  FrameInfo info = kNv12;
  info.memory_type = MemoryType::VAAPI;
  const FramePtr frame = std::make_shared<VAAPIFrame>(surface, info, va);
  paint(frame.map(cpu), 5);
  EXPECT_EQ(pixels(frame.map(cpu, AccessMode::Read))[64], 12);
  VA_CALL(vaDestroySurfaces(va->va_display(), &surface, 1));
}

/// The first plane: software decoders lay chroma out otherwise.
std::vector<uint8_t> luma(const FramePtr& frame) {
  std::vector<uint8_t> all = pixels(frame);
  all.resize(frame->tensor(0)->info().size());
  return all;
}
/// A picture that FFmpeg decoded on `context`'s device. @param software  Its luma as decoded by the CPU.
FramePtr decoded(const FFmpegContextPtr& context, std::vector<uint8_t>* software) {
  const tenon_test::Folder folder;
  tenon_test::ClipSpec spec;
  spec.frames = 6;
  tenon_test::make_clip(folder.file("clip.mp4"), spec);
  tenon::ffmpeg::Video plain(folder.file("clip.mp4"), {});
  const tenon::Frame expected = *plain.read();
  software->resize(expected.plane(0).size_bytes());
  expected.plane(0).context()->read(expected.plane(0), std::as_writable_bytes(std::span(*software)));
  tenon::ffmpeg::Options options;
  options.hardware = tenon::ffmpeg::HardwareDevice::wrap(context->hw_device_context_ref());
  AVFrame* taken = av_frame_alloc();
  options.take_hardware = [taken](AVFrame* frame, AVRational) {
    if (!taken->buf[0]) av_frame_ref(taken, frame);
    return tenon::ffmpeg::wrap(frame);
  };
  tenon::ffmpeg::Video video(folder.file("clip.mp4"), options);
  video.read();
  return std::make_shared<FFmpegFrame>(taken, true, context);
}

TEST_F(DlsVaapi, TheDocumentsChainFromFFmpegToUsmSharesTheDecodersSurface) {
  const auto all = tenon::level_zero::devices();
  if (all.empty() && tenon::expects_dmabufs()) FAIL() << "no Level Zero driver";
  const auto ffmpeg = std::make_shared<FFmpegContext>(tenon::ffmpeg_vaapi::device(opened()).buffer(), false);
  EXPECT_EQ(ffmpeg->handle(FFmpegContext::key::va_display), va->va_display());
  std::vector<uint8_t> software;
  const FramePtr frame = decoded(ffmpeg, &software);
  const ContextPtr of_ffmpeg = VAAPIContext::create(ffmpeg);
  EXPECT_EQ(of_ffmpeg->parent(), ffmpeg);
  const auto before = copied();
  const auto surface = frame.map<VAAPIFrame>(of_ffmpeg, AccessMode::Read);
  EXPECT_EQ(luma(FramePtr(surface).map(cpu, AccessMode::Read)), software);
  EXPECT_EQ(copied(), before);
  if (all.empty()) GTEST_SKIP() << "no Level Zero driver";
  const tenon::Context device = tenon::level_zero::make_context(all.front());
  const auto usm = std::make_shared<LevelZeroContext>(tenon::level_zero::handle(device), all.front().handle);
  create_mapper({ffmpeg, of_ffmpeg, dma, usm});
  const FramePtr mapped = frame.map(usm, AccessMode::Read);
  EXPECT_EQ(mapped->memory_type(), MemoryType::USM);
  EXPECT_EQ(mapped->parent()->memory_type(), MemoryType::DMA);
  EXPECT_EQ(mapped->parent()->parent()->memory_type(), MemoryType::VAAPI);
  EXPECT_EQ(copied(), before);
  EXPECT_EQ(luma(mapped.map(cpu, AccessMode::Read)), software);
}

TEST_F(DlsVaapi, AContextEndsWithItsLastUserAndNotWithWhatWasMappedTo) {
  auto ffmpeg = std::make_shared<FFmpegContext>(tenon::ffmpeg_vaapi::device(opened()).buffer(), false);
  const std::weak_ptr<Context> seen = ffmpeg;
  {
    const ContextPtr of_ffmpeg = VAAPIContext::create(ffmpeg);
    const FramePtr frame = std::make_shared<VAAPIFrameAlloc>(kNv12, of_ffmpeg);
    frame.map(cpu);
    frame.map(AccessMode::Read);
  }
  ffmpeg = nullptr;
  TensorPtr(std::make_shared<CPUTensorAlloc>(TensorInfo({4}))).map(cpu);  // The next map forgets what is gone.
  tenon::drain_deferred(tenon::default_deadline());
  EXPECT_TRUE(seen.expired());
}

TEST(DlsLevelZero, UsmIsWrappedTakenOverAndMapped) {
  const auto all = tenon::level_zero::devices();
  if (all.empty()) GTEST_SKIP() << "no Level Zero driver";
  const tenon::Context native = tenon::level_zero::make_context(all.front());
  const auto usm = std::make_shared<LevelZeroContext>(tenon::level_zero::handle(native), all.front().handle);
  EXPECT_EQ(usm->handle(LevelZeroContext::key::ze_context), usm->ze_context());
  ze_host_mem_alloc_desc_t descriptor{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* data = nullptr;
  ASSERT_EQ(zeMemAllocHost(usm->ze_context(), &descriptor, 4096, 64, &data), ZE_RESULT_SUCCESS);
  const TensorPtr tensor = std::make_shared<USMTensor>(TensorInfo({4096}), data, true, usm);
  EXPECT_EQ(tensor.map(std::make_shared<CPUContext>())->data(), data);
  const ContextPtr dma = DMAContext::create();
  tenon::Requirements wanted;
  wanted.size_bytes = 4096;
  const TensorPtr descriptors = std::make_shared<DMATensor>(
      tenon::Tensor({tenon::ElementType::kU8, {4096}, {}}, tenon::dmabuf::context()->allocate(wanted)), dma);
  const auto imported = ptr_cast<USMTensor>(MemoryMapperDMAToUSM(dma, usm).map(descriptors, AccessMode::ReadWrite));
  EXPECT_NE(imported->data(), nullptr);
  EXPECT_EQ(MemoryMapperUSMToDMA(usm, dma).map(TensorPtr(imported), AccessMode::Read)->memory_type(), MemoryType::DMA);
}

/// A buffer with a picture in system memory.
GstBuffer* picture(GstVideoInfo* video, GstVideoFormat format = GST_VIDEO_FORMAT_NV12) {
  tenon::gstreamer::start();
  gst_video_info_set_format(video, format, 64, 48);
  GstAllocationParams aligned;
  gst_allocation_params_init(&aligned);
  aligned.align = 4095;  // A device takes host memory in place from such an address on.
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(video), &aligned);
  GstMapInfo map;
  gst_buffer_map(buffer, &map, GST_MAP_WRITE);
  for (size_t i = 0; i < map.size; ++i) map.data[i] = static_cast<uint8_t>(i);
  gst_buffer_unmap(buffer, &map);
  return buffer;
}

TEST(DlsGst, BuffersAreMappedInPlaceAndReturnWithTheLastMapping) {
  const auto before = copied();
  GstVideoInfo video;
  GstBuffer* buffer = picture(&video);
  const ContextPtr cpu = std::make_shared<CPUContext>(), opencv = std::make_shared<OpenCVContext>();
  FramePtr frame = std::make_shared<GSTFrame>(buffer, &video);
  EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(buffer), 1) << "nothing is mapped yet";
  FramePtr mapped = MemoryMapperGSTToCPU(nullptr, cpu).map(frame, AccessMode::Read);
  EXPECT_EQ(mapped->tensor(0)->data<uint8_t>({1, 2})[0], 66);
  EXPECT_EQ(mapped->tensor(1)->info().shape, kNv12.tensors[1].shape);
  const FramePtr mats = frame.map(opencv);
  EXPECT_EQ(ptr_cast<OpenCVTensor>(mats->tensor(1))->cv_mat().type(), CV_8UC2);
  EXPECT_EQ(mats->tensor(0)->data(), mapped->tensor(0)->data());
  EXPECT_EQ(copied(), before);
  EXPECT_THAT(error_of([&] { mapped->tensor(); }), HasSubstr("2 tensors"));
  EXPECT_THAT(error_of([&] { frame.map(cpu, AccessMode::Write); }), HasSubstr("")) << "the buffer has another owner";
  gst_buffer_unref(buffer);
  FramePtr owned = std::make_shared<GSTFrame>(picture(&video, GST_VIDEO_FORMAT_RGB), &video, nullptr, true);
  owned.map(cpu)->tensor()->data<uint8_t>()[0] = 99;
  EXPECT_EQ(owned.map(cpu, AccessMode::Write)->tensor()->data<uint8_t>()[0], 99) << "the only owner may write";
  EXPECT_THAT(error_of([] { GSTFrame(nullptr, FrameInfo(MediaType::Tensors)); }), HasSubstr("null"));
}

TEST(DlsGst, RegionsOfInterestAreFrames) {
  GstVideoInfo video;
  GstBuffer* buffer = picture(&video);
  gst_buffer_add_video_region_of_interest_meta(buffer, "face", 8, 4, 16, 10);
  const ContextPtr cpu = std::make_shared<CPUContext>();
  const FramePtr frame = std::make_shared<GSTFrame>(buffer, &video, nullptr, true);
  const FramePtr mapped = frame.map(cpu, AccessMode::Read);
  ASSERT_EQ(mapped->regions().size(), 1u);
  const FramePtr region = mapped->regions()[0];
  EXPECT_THAT(region->tensor(0)->info().shape, ElementsAre(10, 16, 1));
  EXPECT_EQ(region->tensor(0)->data(), mapped->tensor(0)->data<uint8_t>({4, 8}));
  EXPECT_EQ(region->tensor(1)->data(), mapped->tensor(1)->data<uint8_t>({2, 4}));
  EXPECT_EQ(ptr_cast<GSTTensor>(frame->regions()[0]->tensor(0))->offset_x(), 8);
  auto detection = find_metadata<DetectionMetadata>(*mapped);
  ASSERT_TRUE(detection);
  EXPECT_EQ(detection->label(), "face");
  EXPECT_EQ(detection->x_max(), 24. / 64);
  detection->init(0.5, 0.5, 1, 1, 0.75, 3, "cat");
  EXPECT_EQ(find_metadata<DetectionMetadata>(*frame->regions()[0])->confidence(), 0.75) << "it is in the buffer's meta";
  EXPECT_EQ(frame->regions()[0]->tensor(0)->info().shape[1], 32u);
  EXPECT_THAT(error_of([&] { detection->set_name("other"); }), HasSubstr("'detection'"));
}

TEST(DlsGst, StructuresAreDictionaries) {
  tenon::gstreamer::start();
  GstStructure* structure = gst_structure_new_empty("values");
  GSTDictionary dictionary(structure);
  const AnyMap all = {{"int", 1},
                      {"double", 2.5},
                      {"size", size_t{3}},
                      {"string", std::string("four")},
                      {"bool", true},
                      {"pair", std::pair(30, 1)},
                      {"pointer", intptr_t{-5}},
                      {"ints", std::vector<int>{1, 2}},
                      {"doubles", std::vector<double>{0.5}},
                      {"sizes", std::vector<size_t>{7, 8}},
                      {"strings", std::vector<std::string>{"a", "b"}}};
  for (const auto& [key, value] : all) dictionary.set(key, value);
  for (const auto& [key, value] : all) EXPECT_EQ(dictionary.try_get(key), value) << key;
  EXPECT_EQ(dictionary.keys().size(), all.size());
  dictionary.set_array("bytes", "12345", 5);
  EXPECT_EQ(dictionary.get_array<char>("bytes")[4], '5');
  EXPECT_FALSE(dictionary.try_get("none"));
  EXPECT_EQ(dictionary.try_get_array("int").first, nullptr);
  dictionary.set_name("renamed");
  EXPECT_STREQ(gst_structure_get_name(structure), "renamed");
  gst_structure_free(structure);
}

TEST(DlsGst, AnythingWithAnAddressBecomesABuffer) {
  const auto before = copied();
  tenon::gstreamer::start();
  const ContextPtr gst = std::make_shared<GSTContext>(nullptr);
  EXPECT_FALSE(gst->derive_context(MemoryType::VAAPI));
  const TensorPtr tensor = counting(TensorInfo({100}));
  const TensorPtr memory = MemoryMapperAnyToGST(nullptr, gst).map(tensor, AccessMode::Read);
  GstMapInfo map;
  ASSERT_TRUE(gst_memory_map(*ptr_cast<GSTTensor>(memory), &map, GST_MAP_READ));
  EXPECT_EQ(map.data, tensor->data());
  gst_memory_unmap(*ptr_cast<GSTTensor>(memory), &map);
  const FramePtr frame = std::make_shared<CPUFrameAlloc>(kNv12);
  paint(frame, 1);
  const FramePtr buffer = frame.map(gst);
  EXPECT_EQ(pixels(buffer.map(std::make_shared<CPUContext>(), AccessMode::Read)), pixels(frame));
  EXPECT_EQ(copied(), before);
  GstBufferList* list = gst_buffer_list_new();
  GstVideoInfo video;
  for (int i = 0; i < 3; ++i) gst_buffer_list_add(list, picture(&video));
  EXPECT_EQ(GSTFrameBatch(list, gst_video_info_to_frame_info(&video), true).regions().size(), 3u);
}

TEST(DlsGst, ContextsAreAskedOfTheElementBeside) {
  tenon::gstreamer::start();
  const tenon::gstreamer::ObjectPtr<GstElement> line(
      gst_parse_launch("fakesrc name=beside ! identity name=asks", nullptr));
  const tenon::gstreamer::ObjectPtr<GstElement> beside(gst_bin_get_by_name(GST_BIN(line.get()), "beside")),
      asks(gst_bin_get_by_name(GST_BIN(line.get()), "asks"));
  EXPECT_FALSE(GSTContext(asks.get()).derive_context(MemoryType::VAAPI));
  EXPECT_THAT(error_of([&] { GSTContextQuery(asks.get(), MemoryType::VAAPI); }), HasSubstr("gst.va.display.handle"));
  gst_pad_set_query_function(
      static_cast<GstPad*>(beside->srcpads->data), [](GstPad*, GstObject*, GstQuery* query) -> gboolean {
        const char* type = nullptr;
        if (GST_QUERY_TYPE(query) != GST_QUERY_CONTEXT || !gst_query_parse_context_type(query, &type)) return FALSE;
        GstContext* context = gst_context_new(type, FALSE);
        gst_query_set_context(query, context);
        gst_context_unref(context);
        return TRUE;
      });
  const ContextPtr derived = GSTContext(asks.get()).derive_context(MemoryType::VAAPI);
  ASSERT_TRUE(derived);
  EXPECT_EQ(derived->memory_type(), MemoryType::VAAPI);
  EXPECT_EQ(derived->handle(BaseContext::key::va_display), nullptr) << "this context has no display";
}

TEST(DlsGst, CapsSayWhatFramesAre) {
  tenon::gstreamer::start();
  for (const FrameInfo& info :
       {FrameInfo(ImageFormat::NV12, MemoryType::VAAPI, kNv12.tensors), FrameInfo(ImageFormat::RGBP),
        FrameInfo(MediaType::Tensors, MemoryType::CPU, {TensorInfo({1, 3, 8}), TensorInfo({5}, DataType::Float32)})}) {
    const tenon::gstreamer::CapsPtr caps(frame_info_to_gst_caps(info));
    EXPECT_EQ(gst_caps_to_frame_info(caps.get()), info) << frame_info_to_string(info);
  }
  const tenon::gstreamer::CapsPtr both(
      frame_info_vector_to_gst_caps({FrameInfo(ImageFormat::BGR), FrameInfo(MediaType::Image, MemoryType::DMA)}));
  EXPECT_EQ(gst_caps_to_frame_info(both.get(), 1).memory_type, MemoryType::DMA);
  EXPECT_THAT(error_of([&] { gst_caps_to_frame_info(both.get(), 2); }), HasSubstr("no structure 2"));
  EXPECT_EQ(gst_map_flags_to_access_mode(GST_MAP_READ), AccessMode::Read);
}

TEST_F(DlsOpenCL, TheDocumentsChainFromGStreamerToUMat) {
  GstVideoInfo video;
  const FramePtr frame = std::make_shared<GSTFrame>(picture(&video, GST_VIDEO_FORMAT_BGR), &video, nullptr, true);
  const ContextPtr gst = std::make_shared<GSTContext>(nullptr);
  const auto umats = OpenCVUMatContext::create(context);
  const auto before = copied();
  const auto mapper = create_mapper({nullptr, context, umats});
  const FramePtr mapped = mapper->map(frame, AccessMode::Read);
  const cv::UMat umat = *ptr_cast<OpenCVUMatTensor>(mapped->tensor());
  EXPECT_EQ(umat.size(), cv::Size(64, 48));
  EXPECT_EQ(cv::Mat(umat.getMat(cv::ACCESS_READ)).at<cv::Vec3b>(0, 10), cv::Vec3b(30, 31, 32));
  EXPECT_EQ(copied() == before, is_shared);
  EXPECT_EQ(MemoryMapperGSTToOpenCL(gst, context).map(frame, AccessMode::Read)->memory_type(), MemoryType::OpenCL);
}

ov::CompiledModel doubling(ov::Core& core) {
  const auto input = std::make_shared<ov::opset13::Parameter>(ov::element::f32, ov::Shape{1, 4});
  const auto two = ov::opset13::Constant::create(ov::element::f32, {}, {2});
  return core.compile_model(
      std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::opset13::Multiply>(input, two)},
                                  ov::ParameterVector{input}),
      "CPU");
}

TEST(DlsOpenVINO, RequestsReadWhatWasMappedAndTheirOutputsWaitForThem) {
  ov::Core core;
  ov::CompiledModel model = doubling(core);
  const ContextPtr openvino = std::make_shared<OpenVINOContext>(model), cpu = std::make_shared<CPUContext>();
  const auto before = copied();
  TensorPtr tensor = std::make_shared<CPUTensorAlloc>(TensorInfo({1, 4}, DataType::Float32));
  const std::weak_ptr<Tensor> source = tensor;
  for (int i = 0; i < 4; ++i) tensor->data<float>()[i] = static_cast<float>(i);
  TensorPtr mapped = MemoryMapperCPUToOpenVINO(nullptr, openvino).map(tensor, AccessMode::Read);
  EXPECT_EQ(static_cast<const ov::Tensor>(*ptr_cast<OpenVINOTensor>(mapped)).data(), tensor->data());
  const auto frame = std::make_shared<OpenVINOFrame>(model.create_infer_request(), openvino);
  frame->set_input({mapped});
  frame->set_parent(std::make_shared<BaseFrame>(MediaType::Tensors, 0, TensorVector{mapped}));
  tensor = mapped = nullptr;
  frame->start();
  EXPECT_FALSE(source.expired()) << "the inference keeps what it reads";
  const TensorPtr result = frame->tensor().map(cpu);
  EXPECT_EQ(result->data<float>()[3], 6.f);
  EXPECT_EQ(MemoryMapperOpenVINOToCPU(openvino, nullptr).map(frame->tensor(), AccessMode::Read)->data(),
            result->data());
  frame->wait();
  EXPECT_FALSE(frame->parent());
  EXPECT_EQ(copied(), before);
  EXPECT_EQ(data_type_from_openvino(data_type_to_openvino(DataType::Int64)), DataType::Int64);
  EXPECT_THAT(error_of([] { data_type_from_openvino(ov::element::f16); }), HasSubstr("f16"));
  EXPECT_THAT(error_of([&] { frame->set_input({std::make_shared<CPUTensorAlloc>(TensorInfo({4}))}); }),
              HasSubstr("OpenVINOTensor"));
  EXPECT_THAT(error_of([&] { OpenVINOContext(core, "GPU", cpu); }), HasSubstr("neither a VADisplay nor a cl_context"));
}

TEST_F(DlsOpenCL, BuffersBecomeTensorsOfOpenVINO) {
  const ContextPtr openvino = std::make_shared<OpenVINOContext>();
  const TensorPtr buffer = counting(TensorInfo({64})).map(context);
  const auto before = copied();
  const auto mapped = buffer.map<OpenVINOTensor>(openvino, AccessMode::Read);
  EXPECT_EQ(static_cast<uint8_t*>(mapped->data())[63], 63);
  EXPECT_EQ(copied() == before, is_shared);
}

TEST(DlsD3d11, IsRefusedWithItsReason) {
  EXPECT_THAT(error_of([] { D3D11Context(nullptr); }), HasSubstr("Windows alone"));
}

}  // namespace dls_frameworks_test
