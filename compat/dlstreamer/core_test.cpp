// SPDX-License-Identifier: Apache-2.0
// The abstract interfaces of DL Streamer: lifetimes, handles, chains, caches, elements, errors. Names are those of its document.
#include "dlstreamer/audio_info.h"
#include "dlstreamer/base/blocking_queue.h"
#include "dlstreamer/base/sink.h"
#include "dlstreamer/base/source.h"
#include "dlstreamer/base/transform.h"
#include "dlstreamer/cpu/context.h"
#include "dlstreamer/cpu/frame_alloc.h"
#include "dlstreamer/cpu/tensor_alloc.h"
#include "dlstreamer/cpu/utils.h"
#include "dlstreamer/dma/context.h"
#include "dlstreamer/dma/tensor.h"
#include "dlstreamer/frame_info.h"
#include "dlstreamer/image_info.h"
#include "dlstreamer/image_metadata.h"
#include "dlstreamer/memory_mapper_factory.h"
#include "dlstreamer/utils.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tenon/core/ledger.hpp>

namespace {

using namespace dlstreamer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The text of the std::runtime_error that `body` throws.
template <typename Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(DlsInfo, StridesAndSizesAreThoseOfPaddedRows) {
  const TensorInfo packed({4, 6, 3});
  EXPECT_THAT(packed.stride, ElementsAre(18, 3, 1));
  EXPECT_EQ(packed.size(), 72u);
  EXPECT_TRUE(packed.is_contiguous());
  const TensorInfo padded({4, 6, 3}, DataType::UInt8, {32, 3, 1});
  EXPECT_EQ(padded.nbytes(), 128u);
  EXPECT_FALSE(padded.is_contiguous());
  EXPECT_NE(packed, padded);
  EXPECT_EQ(tensor_info_to_string(padded), "uint8:4,6,3:32,3,1");
  EXPECT_EQ(tensor_info_from_string("uint8:4,6,3:32,3,1"), padded);
  EXPECT_EQ(TensorInfo({2, 5}, DataType::Int64).stride, contiguous_stride({2, 5}, DataType::Int64));
}

TEST(DlsInfo, ImagesAreReadFromTheirExtents) {
  const ImageInfo interleaved(TensorInfo({2, 480, 640, 3}));
  EXPECT_EQ(interleaved.layout(), ImageLayout::NHWC);
  EXPECT_EQ(interleaved.width(), 640u);
  EXPECT_EQ(interleaved.height(), 480u);
  EXPECT_EQ(interleaved.channels(), 3u);
  EXPECT_EQ(interleaved.batch(), 2u);
  EXPECT_EQ(interleaved.height_stride(), 1920u);
  const ImageInfo planar(TensorInfo({3, 480, 640}));
  EXPECT_EQ(planar.layout().c_position(), 0);
  EXPECT_EQ(planar.width_stride(), 1u);
  EXPECT_EQ(ImageLayout(std::string("NCHW")).w_position(), 3);
  EXPECT_THAT(error_of([] { ImageInfo(TensorInfo({7})).width(); }), HasSubstr("[7] has no width"));
  const FrameInfoVector infos = {{MediaType::Image, MemoryType::VAAPI}, {ImageFormat::NV12}};
  EXPECT_EQ(infos[0].memory_type, MemoryType::VAAPI);
  EXPECT_EQ(infos[1].media_type, MediaType::Image);
  EXPECT_EQ(image_format_to_string(ImageFormat::NV12), "NV12");
  EXPECT_EQ(image_format_to_string(ImageFormat::RGB), "RGB");
}

TEST(DlsInfo, SoundHasSamplesAndChannels) {
  const AudioInfo sound(TensorInfo({480, 2}));
  EXPECT_EQ(sound.samples(), 480u);
  EXPECT_EQ(sound.channels(), 2u);
  EXPECT_THAT(error_of([] { AudioInfo(TensorInfo({480})); }), HasSubstr("1 axes"));
}

TEST(DlsCheck, WorksWithASemicolonAndWithout) {
  EXPECT_EQ(error_of([] {
              DLS_CHECK(1 == 1)
              DLS_CHECK_GE0(0)
              DLS_CHECK_GE0(-5);
            }),
            "operator(): Error -5 calling: -5");
}

TEST(DlsTensor, HandlesAreFoundByKeyAndMissingOnesAreNamed) {
  uint8_t bytes[12] = {};
  const TensorPtr tensor = std::make_shared<CPUTensor>(TensorInfo({3, 4}), bytes);
  EXPECT_EQ(tensor->handle(), reinterpret_cast<Tensor::handle_t>(bytes));
  EXPECT_EQ(tensor->handle(tensor::key::data), tensor->handle());
  EXPECT_EQ(tensor->handle("dma_fd", -1), -1);
  EXPECT_THAT(error_of([&] { tensor->handle("dma_fd"); }), HasSubstr("'dma_fd'"));
  EXPECT_EQ(tensor->data<uint8_t>({2, 1}), bytes + 9);
  EXPECT_THAT(error_of([&] { tensor->data<float>(); }), HasSubstr("another type"));
  EXPECT_THAT(error_of([&] { tensor->data<uint8_t>({3}); }), HasSubstr("index 3 of axis 0, which has 3"));
  EXPECT_FALSE(tensor->parent());
  EXPECT_FALSE(TensorPtr(nullptr));
}

TEST(DlsTensor, SlicesShareBytesAndKeepTheWhole) {
  TensorPtr whole = std::make_shared<CPUTensorAlloc>(TensorInfo({2, 3, 4}));
  const std::weak_ptr<Tensor> observed = whole;
  const TensorPtr part = get_tensor_slice(whole, {{1, 1}, {1, 2}}, true);
  EXPECT_THAT(part->info().shape, ElementsAre(2, 4));
  EXPECT_EQ(part->data(), whole->data<uint8_t>({1, 1}));
  EXPECT_THAT(error_of([&] {
                get_tensor_slice(whole, {{1, 2}});
              }),
              HasSubstr("2 elements from 1 of axis 0, which has 2"));
  whole = nullptr;
  EXPECT_FALSE(observed.expired());
  EXPECT_EQ(part->parent(), observed.lock());
}

TEST(DlsMapper, ToItsOwnContextATensorIsItself) {
  const ContextPtr cpu = std::make_shared<CPUContext>();
  const TensorPtr tensor = std::make_shared<CPUTensorAlloc>(TensorInfo({5}));
  EXPECT_EQ(tensor.map(AccessMode::Read), tensor) << "a tensor without a context is the host's";
  const TensorPtr mapped = tensor.map(cpu);
  EXPECT_EQ(mapped->context(), cpu);
  EXPECT_EQ(mapped.map(cpu), mapped);
  EXPECT_EQ(mapped->data(), tensor->data());
  EXPECT_EQ(mapped->parent(), tensor);
  EXPECT_EQ(create_mapper({cpu, cpu})->map(mapped), mapped);
}

/// A sealed memfd, which stands in for a dma-buf where the kernel has none.
int sealed_memfd(size_t size) {
  const int fd = memfd_create("dls", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size)), 0);
  EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  return fd;
}

TEST(DlsMapper, DescriptorsAreMappedInPlaceBothWays) {
  const TensorInfo info({64, 64});
  const ContextPtr dma = DMAContext::create(), cpu = std::make_shared<CPUContext>();
  const TensorPtr tensor = std::make_shared<DMATensor>(sealed_memfd(4096), 0, info, true, dma);
  const auto copied = tenon::Ledger::process().total().copied;
  const TensorPtr mapped = tensor.map(AccessMode::ReadWrite);
  mapped->data<uint8_t>()[77] = 42;
  uint8_t seen = 0;
  EXPECT_EQ(pread(static_cast<int>(tensor->handle(tensor::key::dma_fd)), &seen, 1, 77), 1);
  EXPECT_EQ(seen, 42);
  const auto back = mapped.map<DMATensor>(dma);
  EXPECT_EQ(back->info(), info);
  EXPECT_EQ(back->offset(), 0u);
  EXPECT_EQ(pread(back->dma_fd(), &seen, 1, 77), 1);
  EXPECT_EQ(seen, 42);
  EXPECT_EQ(tenon::Ledger::process().total().copied, copied);
  EXPECT_THAT(error_of([&] { ptr_cast<CPUTensor>(tensor); }), HasSubstr("DMATensor"));
}

TEST(DlsMapper, DescriptorsThatArePassedStayTheCallersUnlessTheyAreGiven) {
  const int fd = sealed_memfd(4096);
  { DMATensor(fd, 0, TensorInfo({8})).native(); }
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  { DMATensor(fd, 0, TensorInfo({8}), true).native(); }
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  EXPECT_EQ(DMATensor(0, 0x0100000000000001, TensorInfo({8})).drm_modifier(), 0x0100000000000001) << "all 64 bits";
}

TEST(DlsMapper, AMappedTensorKeepsWhatItWasMappedFrom) {
  ContextPtr dma = DMAContext::create(), cpu = std::make_shared<CPUContext>();
  TensorPtr tensor = std::make_shared<DMATensor>(sealed_memfd(4096), 0, TensorInfo({16}), true, dma);
  const std::weak_ptr<Tensor> source = tensor;
  TensorPtr mapped = create_mapper({dma, cpu})->map(tensor, AccessMode::ReadWrite);
  tensor = nullptr;
  dma = cpu = nullptr;
  ASSERT_FALSE(source.expired());
  mapped->data<uint8_t>()[15] = 1;
  mapped = nullptr;
  EXPECT_TRUE(source.expired());
}

TEST(DlsMapper, ContextsKeepTheirMappersAndMappersDoNotKeepContexts) {
  ContextPtr dma = DMAContext::create(), middle = std::make_shared<CPUContext>(), last = std::make_shared<CPUContext>();
  const std::weak_ptr<Context> first_seen = dma, middle_seen = middle, last_seen = last;
  create_mapper({dma, middle, last}, true);  // The result is dropped: frame.map(last) knows it.
  middle = nullptr;
  EXPECT_FALSE(middle_seen.expired());
  TensorPtr tensor = std::make_shared<DMATensor>(sealed_memfd(4096), 0, TensorInfo({16}), true, dma);
  EXPECT_EQ(tensor.map(last)->parent()->context(), middle_seen.lock()) << "over the chain, not around it";
  tensor = nullptr;
  dma = nullptr;
  EXPECT_TRUE(first_seen.expired());
  last = nullptr;
  EXPECT_TRUE(last_seen.expired());
  EXPECT_TRUE(middle_seen.expired());
}

TEST(DlsMapper, ACacheGivesTheSameObjectWhileItIsInUseAndKeepsNothing) {
  const ContextPtr dma = DMAContext::create(), cpu = std::make_shared<CPUContext>();
  const MemoryMapperPtr mapper = create_mapper({dma, cpu}, true);
  TensorPtr tensor = std::make_shared<DMATensor>(sealed_memfd(4096), 0, TensorInfo({16}), true, dma);
  const std::weak_ptr<Tensor> source = tensor;
  TensorPtr mapped = mapper->map(tensor, AccessMode::Read);
  EXPECT_EQ(mapper->map(tensor, AccessMode::Read), mapped);
  EXPECT_EQ(tensor.map(cpu, AccessMode::Read), mapped) << "the attached one is the same";
  EXPECT_NE(mapper->map(tensor, AccessMode::ReadWrite), mapped) << "another access is another mapping";
  for (int i = 0; i < 100; ++i) {  // Addresses that are used anew are no hits.
    const TensorPtr other = std::make_shared<DMATensor>(sealed_memfd(4096), 0, TensorInfo({16}), true, dma);
    ASSERT_EQ(mapper->map(other)->parent(), other);
  }
  tensor = mapped = nullptr;
  EXPECT_TRUE(source.expired());
}

TEST(DlsMapper, RemappingCostsALookUp) {
  const ContextPtr dma = DMAContext::create(), cpu = std::make_shared<CPUContext>();
  const TensorPtr tensor = std::make_shared<DMATensor>(sealed_memfd(4096), 0, TensorInfo({16}), true, dma);
  void* const first = tensor.map(cpu)->data();
  const auto hits = tenon::Ledger::process().total().view_hits;
  EXPECT_EQ(tensor.map(cpu)->data(), first);
  EXPECT_EQ(tenon::Ledger::process().total().view_hits, hits + 1);
}

TEST(DlsMapper, NullsAndContextsOfOtherKindsAreRefused) {
  const ContextPtr dma = DMAContext::create(), cpu = std::make_shared<CPUContext>();
  EXPECT_THAT(error_of([&] { create_mapper({cpu}); }), HasSubstr("context_chain.size() >= 2"));
  EXPECT_THAT(error_of([&] { create_mapper({dma, nullptr, cpu}); }), HasSubstr("context_chain[i]"));
  EXPECT_THAT(error_of([&] { TensorPtr().map(cpu); }), HasSubstr("null"));
  EXPECT_THAT(error_of([&] { create_mapper({nullptr, cpu})->map(TensorPtr()); }), HasSubstr("null"));
  EXPECT_THAT(error_of([] { MemoryMapperChain({nullptr}); }), HasSubstr("mapper"));
  EXPECT_THAT(error_of([] { MemoryMapperCache(nullptr); }), HasSubstr("mapper"));
  using DmaToCpu = detail::NamedMapper<MemoryType::DMA, MemoryType::CPU>;
  EXPECT_THAT(error_of([&] { DmaToCpu(cpu, dma); }), HasSubstr("input context is System, and has to be one of DMABuf"));
  const ContextPtr unknown = std::make_shared<BaseContext>(MemoryType::TensorFlow);
  const TensorPtr tensor = std::make_shared<CPUTensorAlloc>(TensorInfo({4}));
  EXPECT_THAT(error_of([&] { tensor.map(unknown); }), HasSubstr("no mapper from no context to TensorFlow"));
}

/// A mapper of a program's own, which counts.
class CountingMapper : public BaseMemoryMapper {
 public:
  using BaseMemoryMapper::BaseMemoryMapper;
  using BaseMemoryMapper::map;
  TensorPtr map(TensorPtr src, AccessMode) override {
    ++maps;
    return std::make_shared<CPUTensor>(src->info(), src->data());
  }
  int maps = 0;
};

TEST(DlsMapper, AMapperOfAProgramsOwnIsUsedUntilItIsRemoved) {
  const auto cpu = std::make_shared<CPUContext>();
  const auto mapper = std::make_shared<CountingMapper>(nullptr, cpu);
  cpu->attach_mapper(mapper);
  FrameInfo info(ImageFormat::NV12, MemoryType::CPU, {TensorInfo({8, 8, 1}), TensorInfo({4, 4, 2})});
  const FramePtr frame = std::make_shared<CPUFrameAlloc>(info);
  frame->metadata().add("seen");
  const FramePtr mapped = frame.map(cpu);
  EXPECT_EQ(mapper->maps, 2);
  EXPECT_EQ(mapped->parent(), frame);
  EXPECT_EQ(mapped->tensor(1)->parent(), frame->tensor(1));
  EXPECT_EQ(mapped->format(), static_cast<Format>(ImageFormat::NV12));
  EXPECT_TRUE(find_metadata(*mapped, "seen")) << "a mapped frame has its parent's metadata";
  cpu->remove_mapper(mapper);
  frame.map(cpu);
  EXPECT_EQ(mapper->maps, 2);
}

TEST(DlsFrame, TensorsAreReachedByIndexAndRegionsAreMappedAlong) {
  const auto cpu = std::make_shared<CPUContext>();
  const FramePtr frame =
      std::make_shared<CPUFrameAlloc>(FrameInfo(ImageFormat::BGR, MemoryType::CPU, {TensorInfo({8, 8, 3})}));
  const auto region = std::make_shared<BaseFrame>(MediaType::Image, frame->format(),
                                                  TensorVector{get_tensor_slice(frame->tensor(), {{2, 4}, {2, 4}})});
  ptr_cast<BaseFrame>(frame)->add_region(region);
  const FramePtr mapped = frame.map(cpu);
  ASSERT_EQ(mapped->regions().size(), 1u);
  EXPECT_EQ(mapped->regions()[0]->tensor()->data(), frame->tensor()->data<uint8_t>({2, 2}));
  EXPECT_EQ(frame_info(mapped).tensors[0], TensorInfo({8, 8, 3}));
  EXPECT_THAT(error_of([&] { frame->tensor(1); }), HasSubstr("no tensor 1 in a frame of 1"));
  EXPECT_THAT(error_of([] { BaseFrame(MediaType::Tensors, 0, TensorVector()); }), HasSubstr("no tensors"));
}

TEST(DlsMetadata, ClassesReadWhatTheyWrote) {
  const FramePtr frame = std::make_shared<CPUFrameAlloc>(
      FrameInfo(MediaType::Tensors, MemoryType::CPU, {TensorInfo({2}, DataType::Float32)}));
  auto detection = add_metadata<DetectionMetadata>(*frame);
  detection.init(0.25, 0.5, 0.75, 1.0, 0.9, 7, "cat");
  frame->tensor()->data<float>()[1] = 3.5f;
  detection.init_tensor_data(*frame->tensor(), "layer", "boxes");
  add_metadata<SourceIdentifierMetadata>(*frame).init(1, 40, 3, 5, 9);
  EXPECT_EQ(find_metadata<DetectionMetadata>(*frame)->label(), "cat");
  EXPECT_EQ(find_metadata<DetectionMetadata>(*frame, DetectionMetadata::name, "boxes")->y_max(), 1.0);
  EXPECT_EQ(find_metadata<DetectionMetadata>(*frame)->tensor()->data<float>()[1], 3.5f);
  EXPECT_EQ(find_metadata<SourceIdentifierMetadata>(*frame)->pts(), 40);
  EXPECT_FALSE(find_metadata<ModelInfoMetadata>(*frame));
  auto model = add_metadata<ModelInfoMetadata>(*frame);
  model.set_model_name("net");
  model.set_info("input", FrameInfo(MediaType::Tensors, MemoryType::CPU, {TensorInfo({1, 3, 8, 8})}));
  model.set_layer_names("output", {"a", "b"});
  EXPECT_EQ(model.input().tensors[0], TensorInfo({1, 3, 8, 8}));
  EXPECT_THAT(model.output_layers(), ElementsAre("a", "b"));
  struct Rect {
    int x, y, width, height;
  };
  auto affine = add_metadata<AffineTransformInfoMetadata>(*frame);
  affine.set_rect(100, 50, 10, 10, Rect{50, 0, 50, 50}, Rect{0, 0, 10, 10});
  EXPECT_THAT(affine.matrix(), ElementsAre(0.5, 0, 0.5, 0, 1, 0));
  EXPECT_THAT(error_of([&] { detection.get<int>("x_min"); }), HasSubstr("not the type"));
  EXPECT_THAT(error_of([&] { detection.get<int>("none"); }), HasSubstr("'detection' has no key 'none'"));
  frame->metadata().clear();
  EXPECT_EQ(frame->metadata().begin(), frame->metadata().end());
}

/// Adds a number to each byte.
class AddTransform : public BaseTransform {
 public:
  AddTransform(DictionaryCPtr params, const ContextPtr& app_context)
      : BaseTransform(app_context), _number(params->get<int>("number")) {}
  using BaseTransform::process;
  bool process(TensorPtr src, TensorPtr dst) override {
    for (size_t i = 0; i < src->info().size(); ++i)
      dst->data<uint8_t>()[i] = static_cast<uint8_t>(src->data<uint8_t>()[i] + _number);
    return true;
  }

 protected:
  std::function<FramePtr()> get_output_allocator() override {
    return [this] { return std::make_shared<CPUFrameAlloc>(_output_info); };
  }
  bool init_once() override { return _number >= 0; }

 private:
  int _number;
};
ParamDescVector params_desc = {{"number", "what is added", 1, 0, 100}, {"mode", "unused", "fast", {"fast", "slow"}}};

}  // namespace

extern "C" {
dlstreamer::ElementDesc add_transform = {
    .name = "add_transform",
    .description = "Adds a number to each byte",
    .author = "Tenon",
    .params = &params_desc,
    .input_info = MAKE_FRAME_INFO_VECTOR({{MediaType::Tensors, MemoryType::CPU}}),
    .output_info = MAKE_FRAME_INFO_VECTOR({{ImageFormat::RGB}, {MediaType::Tensors}}),
    .create = create_element<AddTransform>,
    .flags = ELEMENT_FLAG_SHARABLE};
}

namespace {

TEST(DlsElement, IsDescribedMadeAndRunWithAPool) {
  EXPECT_EQ(add_transform.input_info()[0].memory_type, MemoryType::CPU);
  EXPECT_EQ(add_transform.output_info().size(), 2u);
  const TransformPtr transform = create_transform(add_transform, {{"number", 5}});
  const FrameInfo info(MediaType::Tensors, MemoryType::CPU, {TensorInfo({4})});
  transform->set_input_info(info);
  transform->set_output_info(info);
  const FramePtr source = std::make_shared<CPUFrameAlloc>(info);
  for (int i = 0; i < 4; ++i) source->tensor()->data<uint8_t>()[i] = static_cast<uint8_t>(i);
  FramePtr result = transform->process(source);
  EXPECT_EQ(result->tensor()->data<uint8_t>()[3], 8);
  void* const used = result->tensor()->data();
  TensorPtr tensor = transform->process(source->tensor());
  EXPECT_NE(tensor->data(), used) << "the first result is still in use";
  result = nullptr;
  EXPECT_EQ(transform->process(source)->tensor()->data(), used);
  EXPECT_EQ(ptr_cast<BaseTransform>(transform)->pool_size(), 2u);
  EXPECT_THAT(error_of([&] { create_transform(add_transform)->process(source); }), HasSubstr("0 tensors"))
      << "no output was set";
  EXPECT_THAT(error_of([&] {
                create_transform(add_transform, {{"number", -1}})->process(source);
              }),
              HasSubstr("init()"));
  EXPECT_THAT(error_of([] { create_source(add_transform); }), HasSubstr("'add_transform' is no source"));
}

class CountSource : public BaseSource {
 public:
  CountSource(DictionaryCPtr params, const ContextPtr& app_context)
      : BaseSource(app_context), _left(params->get("count", 0)) {}
  FramePtr read() override { return _left-- > 0 ? std::make_shared<CPUFrameAlloc>(_output_info) : nullptr; }

 private:
  int _left;
};
class CountSink : public BaseSink {
 public:
  CountSink(DictionaryCPtr, const ContextPtr& app_context) : BaseSink(app_context) {}
  void write(FramePtr frame) override { frames += frame ? 1 : 0; }
  int frames = 0;
};

TEST(DlsElement, SourcesAndSinksMeetInAQueue) {
  const auto source = create_source<CountSource>({{"count", 20}});
  const auto sink = create_sink<CountSink>();
  source->set_output_info(FrameInfo(MediaType::Tensors, MemoryType::CPU, {TensorInfo({4})}));
  BlockingQueue<FramePtr> queue;
  std::thread reader([&] {
    while (FramePtr frame = source->read()) queue.push(frame, 2);
    queue.push(nullptr);
  });
  while (FramePtr frame = queue.pop()) sink->write(frame);
  reader.join();
  EXPECT_EQ(sink->frames, 20);
}

TEST(DlsElement, APoolWaitsForWhatComesBackAndMakesNoMoreThanItMay) {
  Pool<std::shared_ptr<int>> pool([] { return std::make_shared<int>(1); },
                                  [](std::shared_ptr<int>& each) { return each.use_count() == 1; }, 1);
  auto first = pool.get_or_create();
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first = nullptr;
  });
  EXPECT_EQ(*pool.get_or_create(), 1);
  user.join();
  EXPECT_EQ(pool.size(), 1u);
}

}  // namespace
