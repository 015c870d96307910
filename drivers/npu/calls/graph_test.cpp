// SPDX-License-Identifier: Apache-2.0
// The graph and profiling extensions through the loader: calls of ordinary and of hostile clients.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <tenon/drivers/npu/testing/graph_client.hpp>
#include <tenon/frameworks/level_zero/abi/context_npu.hpp>

namespace tenon::npu::test {
namespace graph_test {

TEST_F(NpuGraph, SaysWhatItsArgumentsAre) {
  const abi::GraphHandle graph = small("--inputs_precisions=\"0:FP16\" --config NPU_ENABLE_STRIDES_FOR=\"x\"");
  abi::GraphProperties3 properties;
  ASSERT_EQ(graphs->get_properties_3(graph, &properties), ZE_RESULT_SUCCESS);
  EXPECT_EQ(properties.argument_count, 2u);
  EXPECT_TRUE(properties.flags & abi::kGraphCompiled);
  EXPECT_FALSE(properties.flags & abi::kGraphPreCompiled);
  abi::ArgumentProperties3 argument;
  abi::ArgumentPropertyStrides strides;
  argument.next = &strides;
  ASSERT_EQ(graphs->get_argument_properties_3(graph, 0, &argument), ZE_RESULT_SUCCESS);
  EXPECT_STREQ(argument.name, "x");
  EXPECT_EQ(argument.device_precision, abi::ArgumentPrecision::kFp16);
  EXPECT_EQ(argument.network_precision, abi::ArgumentPrecision::kFp16);
  EXPECT_EQ(argument.dims_count, 2u);
  EXPECT_EQ(argument.dims[1], 4u);
  EXPECT_EQ(strides.supports_dynamic_strides, 1);
  ASSERT_EQ(graphs->get_argument_properties_3(graph, 1, &argument), ZE_RESULT_SUCCESS);
  EXPECT_EQ(argument.type, abi::ArgumentType::kOutput);
  EXPECT_STREQ(argument.debug_friendly_name, "y");
  ASSERT_EQ(argument.tensor_names_count, 1u);
  EXPECT_STREQ(argument.tensor_names[0], "y_tensor");
  EXPECT_EQ(graphs->get_argument_properties_3(graph, 2, &argument), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, ReadsNoChainOfStructuresThatTheClientLeftUninitialised) {
  const abi::GraphHandle graph = small();
  const auto fills = [&](auto call, auto structure) {
    std::memset(static_cast<void*>(&structure), 0xcd, sizeof structure);
    ASSERT_EQ(call(graph, 0, &structure), ZE_RESULT_SUCCESS);
  };
  fills(graphs->get_argument_properties, abi::ArgumentProperties{});
  fills(graphs->get_argument_properties_2, abi::ArgumentProperties2{});
  fills(graphs->get_argument_properties_3, abi::ArgumentProperties3{});
  fills(graphs->get_argument_metadata, abi::ArgumentMetadata{});
  abi::ArgumentMetadata metadata;
  metadata.next = reinterpret_cast<void*>(0xcdcdcdcdcdcdcdc8);
  EXPECT_EQ(graphs->get_argument_metadata(graph, 0, &metadata), ZE_RESULT_SUCCESS) << "metadata has no chain";
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, DynamicExtentsAreMarkedInItsMetadata) {
  const Made made = make_ir(compiler::in_memory(*compiler::small_model(PartialShape{Dimension(1, 4), 3})));
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  abi::ArgumentMetadata metadata;
  ASSERT_EQ(graphs->get_argument_metadata(made.graph, 0, &metadata), ZE_RESULT_SUCCESS);
  EXPECT_EQ(metadata.shape_size, 2u);
  EXPECT_EQ(metadata.shape[0], abi::kDynamicDimension);
  EXPECT_EQ(metadata.shape[1], 3u);
  abi::ArgumentProperties3 argument;
  ASSERT_EQ(graphs->get_argument_properties_3(made.graph, 0, &argument), ZE_RESULT_SUCCESS);
  EXPECT_EQ(argument.dims[0], 4u);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, BinaryComesBackAndRefusalsSayWhy) {
  const abi::GraphHandle graph = small();
  const Bytes good = binary_of(graph);
  std::size_t size = 0;
  const std::uint8_t* view = nullptr;
  ASSERT_EQ(graphs->get_native_binary_2(graph, &size, &view), ZE_RESULT_SUCCESS);
  EXPECT_EQ(Bytes(view, view + size), good);
  Bytes with_trailer = good;
  with_trailer.insert(with_trailer.end(), 77, 1);
  const Made made = make(with_trailer.data(), with_trailer.size(), abi::GraphFormat::kNative);
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  abi::GraphProperties3 properties;
  ASSERT_EQ(graphs->get_properties_3(made.graph, &properties), ZE_RESULT_SUCCESS);
  EXPECT_TRUE(properties.flags & abi::kGraphPreCompiled);
  EXPECT_TRUE(properties.flags & abi::kGraphNoStandardAllocation);
  expect_it_computes(made.graph);
  EXPECT_EQ(binary_of(made.graph), good);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
  Bytes bad = good;
  bad[bad.size() / 2] ^= 1;
  Made refused = make(bad.data(), bad.size(), abi::GraphFormat::kNative);
  EXPECT_EQ(refused.result, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  EXPECT_THAT(refused.log, HasSubstr("hash"));
  refused = make(good.data(), good.size() - 1, abi::GraphFormat::kNative);
  EXPECT_EQ(refused.result, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  EXPECT_THAT(refused.log, HasSubstr("truncated"));
  const Made other = make_ir(compiler::in_memory(*compiler::small_model()), "--config NPU_PLATFORM=\"3720\"");
  ASSERT_EQ(other.result, ZE_RESULT_SUCCESS) << "off-device compilation";
  EXPECT_EQ(graphs->graph_initialize(other.graph), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  const Bytes foreign = binary_of(other.graph);
  refused = make(foreign.data(), foreign.size(), abi::GraphFormat::kNative);
  EXPECT_EQ(refused.result, ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  EXPECT_THAT(refused.log, HasSubstr("3720"));
  EXPECT_EQ(graphs->destroy(other.graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, PersistentBinaryIsUsedWhereItLies) {
  const abi::GraphHandle graph = small();
  const Bytes good = binary_of(graph);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
  auto* pages = static_cast<std::uint8_t*>(
      ::mmap(nullptr, good.size() + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::memcpy(pages, good.data(), good.size());
  const std::uint32_t bits = abi::kGraphInputPersistent;
  std::memcpy(pages + 8, good.data(), good.size());
  const Made copied = make(pages + 8, good.size(), abi::GraphFormat::kNative, nullptr, bits);
  ASSERT_EQ(copied.result, ZE_RESULT_SUCCESS) << copied.log;
  expect_it_computes(copied.graph);
  EXPECT_EQ(graphs->destroy(copied.graph), ZE_RESULT_SUCCESS);
  std::memcpy(pages, good.data(), good.size());
  const Made made = make(pages, good.size(), abi::GraphFormat::kNative, nullptr, bits);
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  std::size_t size = 0;
  const std::uint8_t* view = nullptr;
  ASSERT_EQ(graphs->get_native_binary_2(made.graph, &size, &view), ZE_RESULT_SUCCESS);
  EXPECT_EQ(view, pages);
  expect_it_computes(made.graph);
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
  ::munmap(pages, good.size() + 4096);
}

TEST_F(NpuGraph, TheCachesSizeIsTheClientsToSet) {
  const auto set_size = call<ze_result_t (*)(std::size_t)>("zexDiskCacheSetSize");
  const auto get_size = call<ze_result_t (*)(std::size_t*)>("zexDiskCacheGetSize");
  const auto get_folder = call<ze_result_t (*)(char*, std::size_t*)>("zexDiskCacheGetDirectory");
  char folder[4096];
  std::size_t length = 1, before = 0, now = 0;
  EXPECT_EQ(get_folder(folder, &length), ZE_RESULT_ERROR_INVALID_SIZE);
  length = sizeof folder;
  ASSERT_EQ(get_folder(folder, &length), ZE_RESULT_SUCCESS);
  EXPECT_EQ(length, std::strlen(folder));
  EXPECT_STREQ(folder, std::getenv("TENON_NPU_CACHE_DIR"));
  ASSERT_EQ(get_size(&before), ZE_RESULT_SUCCESS);
  const auto model = compiler::small_model();
  model->set_friendly_name("sized" + std::to_string(::getpid()));
  const Bytes ir = compiler::in_memory(*model);
  const auto log_of = [&] {
    const Made made = make_ir(ir, nullptr, 0);
    EXPECT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
    EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
    return made.log;
  };
  ASSERT_EQ(set_size(256), ZE_RESULT_SUCCESS);
  ASSERT_EQ(get_size(&now), ZE_RESULT_SUCCESS);
  EXPECT_EQ(now, 256u);
  abi::MemoryQuery query;
  ASSERT_EQ(graphs->query_context_memory(context, abi::MemoryQueryType::kDriverCache, &query), ZE_RESULT_SUCCESS);
  EXPECT_EQ(query.total, 256u);
  EXPECT_EQ(query.allocated, 0u) << "what does not fit any more is removed";
  EXPECT_EQ(log_of(), "") << "too large for the cache";
  ASSERT_EQ(set_size(before), ZE_RESULT_SUCCESS);
  EXPECT_EQ(log_of(), "ZE DynamicCaching cache_status_t: cache_status_t::stored\n");
  EXPECT_EQ(log_of(), "ZE DynamicCaching cache_status_t: cache_status_t::found\n");
}

TEST_F(NpuGraph, TheClientsHashNamesTheModelInTheCache) {
  abi::GraphInputHash hash;
  hash.hash = static_cast<std::uint64_t>(::getpid()) << 32 | 0x77;
  const auto flags_of = [&](const std::string& name, const char* build_flags) {
    const auto model = compiler::small_model();
    model->set_friendly_name(name);
    const Bytes ir = compiler::in_memory(*model);
    abi::GraphDescriptor2 descriptor;
    descriptor.next = &hash;
    descriptor.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
    descriptor.input = ir.data();
    descriptor.input_size = ir.size();
    descriptor.build_flags = build_flags;
    abi::GraphHandle graph = nullptr;
    EXPECT_EQ(graphs->create_2(context, device, &descriptor, &graph), ZE_RESULT_SUCCESS);
    abi::GraphProperties3 properties;
    EXPECT_EQ(graphs->get_properties_3(graph, &properties), ZE_RESULT_SUCCESS);
    expect_it_computes(graph);
    EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
    return properties.flags & (abi::kGraphCompiled | abi::kGraphLoadedFromCache);
  };
  EXPECT_EQ(flags_of("one", nullptr), std::uint32_t{abi::kGraphCompiled});
  EXPECT_EQ(flags_of("another name", nullptr), std::uint32_t{abi::kGraphLoadedFromCache});
  EXPECT_EQ(flags_of("one", "--config PERF_COUNT=\"NO\""), std::uint32_t{abi::kGraphCompiled});
  ++hash.hash;
  EXPECT_EQ(flags_of("one", nullptr), std::uint32_t{abi::kGraphCompiled});
}

TEST_F(NpuGraph, AnIdleContextGivesMemoryBack) {
  const auto set_timeout = call<ze_result_t (*)(ze_context_handle_t, std::uint64_t)>("zexContextSetIdlePruningTimeout");
  EXPECT_EQ(set_timeout(nullptr, 1), ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  abi::ContextNpuTable* contexts = nullptr;
  ASSERT_EQ(zeDriverGetExtensionFunctionAddress(driver, abi::kContextNpuExtension, reinterpret_cast<void**>(&contexts)),
            ZE_RESULT_SUCCESS);
  const abi::GraphHandle graph = small();
  auto* data = static_cast<float*>(allocate_host(64));
  ASSERT_EQ(graphs->set_argument_value(graph, 0, data), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(graph, 1, data + 8), ZE_RESULT_SUCCESS);
  const auto queue = make_queue();
  auto list = make_list();
  ASSERT_EQ(graphs->append_graph_execute(list, graph, nullptr, nullptr, 0, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(zeCommandListClose(list), ZE_RESULT_SUCCESS);
  const auto infer = [&] {
    ASSERT_EQ(zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr), ZE_RESULT_SUCCESS);
    ASSERT_EQ(zeCommandQueueSynchronize(queue, 10 * kSecond), ZE_RESULT_SUCCESS);
  };
  infer();
  const std::uint64_t kept = used();  // Nothing is given back before there is a time.
  ASSERT_EQ(set_timeout(context, 30), ZE_RESULT_SUCCESS);
  infer();
  for (int i = 0; i < 6000 && used() >= kept; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_LT(used(), kept);
  abi::ContextNpuProperties off;
  ASSERT_EQ(contexts->set_properties(context, &off), ZE_RESULT_SUCCESS);
  infer();
  const std::uint64_t before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(used(), before) << "the option is off";
  ASSERT_EQ(contexts->release_memory(context), ZE_RESULT_SUCCESS);
  EXPECT_LT(used(), before);
  infer();
  EXPECT_EQ(used(), before) << "it allocates again what it needs";
  EXPECT_EQ(zeCommandListDestroy(list), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeCommandQueueDestroy(queue), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
  EXPECT_EQ(zeMemFree(context, data), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, CacheHitIsReportedAndBypassed) {
  const auto model = compiler::small_model();
  model->set_friendly_name("small" + std::to_string(::getpid()));  // Unique: not in the cache of an earlier run.
  const Bytes ir = compiler::in_memory(*model);
  const auto flags_of = [&](std::uint32_t bits) {
    const Made made = make_ir(ir, nullptr, bits);
    EXPECT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
    abi::GraphProperties3 properties;
    EXPECT_EQ(graphs->get_properties_3(made.graph, &properties), ZE_RESULT_SUCCESS);
    expect_it_computes(made.graph);
    EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
    return properties.flags;
  };
  EXPECT_TRUE(flags_of(0) & abi::kGraphCompiled);
  const std::uint32_t hit = flags_of(0);
  EXPECT_TRUE(hit & abi::kGraphLoadedFromCache);
  EXPECT_FALSE(hit & (abi::kGraphPreCompiled | abi::kGraphCompiled))
      << "exactly one of the three, as of hardware's driver";
  EXPECT_TRUE(flags_of(abi::kGraphDisableCaching) & abi::kGraphCompiled);
  abi::MemoryQuery query;
  EXPECT_EQ(graphs->query_context_memory(context, abi::MemoryQueryType::kDriverCache, &query), ZE_RESULT_SUCCESS);
  EXPECT_GT(query.allocated, 0u);
}

TEST_F(NpuGraph, WhatIsCompiledInSecretIsNotCached) {
  const auto model = compiler::small_model();
  model->set_friendly_name("secret" + std::to_string(::getpid()));
  const Bytes ir = compiler::in_memory(*model);
  const auto cached = [&] {
    abi::MemoryQuery query;
    EXPECT_EQ(graphs->query_context_memory(context, abi::MemoryQueryType::kDriverCache, &query), ZE_RESULT_SUCCESS);
    return query.allocated;
  };
  const std::uint64_t before = cached();
  for (int i = 0; i < 2; ++i) {
    const Made made = make_ir(ir, nullptr, abi::kGraphSecureCompile);
    ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
    abi::GraphProperties3 properties;
    EXPECT_EQ(graphs->get_properties_3(made.graph, &properties), ZE_RESULT_SUCCESS);
    EXPECT_TRUE(properties.flags & abi::kGraphCompiled);
    expect_it_computes(made.graph);
    EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
  }
  EXPECT_EQ(cached(), before);
  const Made open = make_ir(ir, nullptr, 0);
  EXPECT_EQ(open.result, ZE_RESULT_SUCCESS);
  EXPECT_GT(cached(), before);
  EXPECT_EQ(graphs->destroy(open.graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, WhatACompilerDoesNotKnowIsAWarningInTheLog) {
  const Made made = make_ir(compiler::in_memory(*compiler::small_model()),
                            "--config NPU_COMPILATION_MODE_PARAMS=\"enable-magic=true optimization-level=3\"");
  ASSERT_EQ(made.result, ZE_RESULT_SUCCESS) << made.log;
  EXPECT_THAT(made.log, HasSubstr("warning: "));
  EXPECT_THAT(made.log, HasSubstr("enable-magic"));
  EXPECT_EQ(graphs->destroy(made.graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, MoreTilesThanTheDeviceHasAreForExportAlone) {
  const abi::GraphHandle graph = small("--config NPU_MAX_TILES=\"8\" NPU_TILES=\"8\"");
  const Bytes binary = binary_of(graph);
  EXPECT_EQ(graphs->graph_initialize(graph), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  const Made made = make(binary.data(), binary.size(), abi::GraphFormat::kNative);
  EXPECT_NE(made.result, ZE_RESULT_SUCCESS);
  EXPECT_THAT(made.log, HasSubstr("8 tiles, and this device has 6"));
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, ShapesWhoseSizeIsNoNumberAreRefused) {
  const Dimension much(1, std::int64_t{1} << 32), most(1, std::int64_t{1} << 31);
  for (const PartialShape& shape : {PartialShape{much, much}, PartialShape{1, much}, PartialShape{most, most, most}}) {
    const Made made = make_ir(compiler::in_memory(*compiler::small_model(shape)));
    EXPECT_EQ(made.result, ZE_RESULT_ERROR_INVALID_ARGUMENT) << shape.to_string();
    EXPECT_THAT(made.log, ::testing::AnyOf(HasSubstr("too large"), HasSubstr("exceeds what memory can hold")));
  }
}

TEST_F(NpuGraph, UnsupportedNodesAreNamedAndLeftOutOfQueries) {
  const SerializedModel model = serialize(*compiler::small_model());
  std::string xml = model.xml;
  const std::size_t at =
      xml.find("type=\"ReLU\"") != std::string::npos ? xml.find("type=\"ReLU\"") : xml.find("type=\"Relu\"");
  ASSERT_NE(at, std::string::npos);
  xml.replace(at, 11, "type=\"None\"");
  const Bytes ir = compiler::in_memory(xml, model.weights);
  const Made made = make_ir(ir);
  EXPECT_EQ(made.result, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  EXPECT_THAT(made.log, HasSubstr("relu"));
  std::uint32_t length = 0;
  EXPECT_EQ(graphs->build_log_get_string(nullptr, &length, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(length, made.log.size() + 1);
  abi::GraphDescriptor2 descriptor;
  descriptor.format = static_cast<std::uint32_t>(abi::GraphFormat::kNgraphLite);
  descriptor.input = ir.data();
  descriptor.input_size = ir.size();
  abi::GraphQueryHandle query = nullptr;
  ASSERT_EQ(graphs->query_network_create_2(context, device, &descriptor, &query), ZE_RESULT_SUCCESS);
  std::size_t size = 0;
  ASSERT_EQ(graphs->query_network_get_supported_layers(query, &size, nullptr), ZE_RESULT_SUCCESS);
  std::vector<char> layers(size);
  ASSERT_EQ(graphs->query_network_get_supported_layers(query, &size, layers.data()), ZE_RESULT_SUCCESS);
  EXPECT_THAT(layers.data(), HasSubstr("<sum>"));
  EXPECT_THAT(layers.data(), ::testing::Not(HasSubstr("<relu>")));
  EXPECT_EQ(graphs->query_network_destroy(query), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->query_network_destroy(query), ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_F(NpuGraph, UnknownOptionsAreRefusedByName) {
  const Made made = make_ir(compiler::in_memory(*compiler::small_model()), "--config NO_SUCH=\"1\"");
  EXPECT_EQ(made.result, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  EXPECT_THAT(made.log, HasSubstr("NO_SUCH"));
  const auto type = abi::OptionsType::kCompiler;
  EXPECT_EQ(graphs->is_option_supported(device, type, "NPU_TILES", nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(graphs->is_option_supported(device, type, "NPU_TILES", "x"), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  EXPECT_EQ(graphs->is_option_supported(device, type, "NO_SUCH", nullptr), ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

TEST_F(NpuGraph, ProfilesByLayerAndByTask) {
  const abi::GraphHandle graph = small("--config PERF_COUNT=\"YES\"");
  abi::ProfilingPoolHandle pool = nullptr;
  abi::ProfilingQueryHandle query = nullptr;
  ASSERT_EQ(profiling->pool_create(graph, 1, &pool), ZE_RESULT_SUCCESS);
  EXPECT_EQ(profiling->query_create(pool, 1, &query), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ASSERT_EQ(profiling->query_create(pool, 0, &query), ZE_RESULT_SUCCESS);
  std::uint32_t size = 0;
  EXPECT_EQ(profiling->query_get_data(query, abi::ProfilingType::kLayer, &size, nullptr), ZE_RESULT_NOT_READY);
  void* x = allocate_host(16);
  void* y = allocate_host(16);
  ASSERT_EQ(graphs->set_argument_value(graph, 0, x), ZE_RESULT_SUCCESS);
  ASSERT_EQ(graphs->set_argument_value(graph, 1, y), ZE_RESULT_SUCCESS);
  ASSERT_EQ(execute(graph, query), ZE_RESULT_SUCCESS);
  ASSERT_EQ(profiling->query_get_data(query, abi::ProfilingType::kLayer, &size, nullptr), ZE_RESULT_SUCCESS);
  ASSERT_EQ(size % sizeof(abi::LayerInfo), 0u);
  ASSERT_GT(size, 0u);
  std::vector<abi::LayerInfo> layers(size / sizeof(abi::LayerInfo));
  ASSERT_EQ(profiling->query_get_data(query, abi::ProfilingType::kLayer, &size,
                                      reinterpret_cast<std::uint8_t*>(layers.data())),
            ZE_RESULT_SUCCESS);
  EXPECT_EQ(layers[0].status, abi::LayerStatus::kExecuted);
  EXPECT_GT(layers[0].duration_ns, 0u);
  EXPECT_EQ(layers[0].dpu_ns + layers[0].sw_ns + layers[0].dma_ns, layers[0].duration_ns);
  ASSERT_EQ(profiling->query_get_data(query, abi::ProfilingType::kTask, &size, nullptr), ZE_RESULT_SUCCESS);
  EXPECT_EQ(size % sizeof(abi::TaskInfo), 0u);
  EXPECT_EQ(profiling->query_destroy(query), ZE_RESULT_SUCCESS);
  EXPECT_EQ(profiling->pool_destroy(pool), ZE_RESULT_SUCCESS);
  zeMemFree(context, x);
  zeMemFree(context, y);
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, HostileCallsGetCodes) {
  abi::GraphHandle graph = nullptr;
  EXPECT_EQ(graphs->create_3(context, device, nullptr, &graph, nullptr), ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  EXPECT_EQ(make(nullptr, 16, abi::GraphFormat::kNgraphLite).result, ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  const Bytes garbage(10000, 0x5A);
  EXPECT_EQ(make(garbage.data(), 0, abi::GraphFormat::kNgraphLite).result, ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_EQ(make_ir(garbage).result, ZE_RESULT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(make(garbage.data(), garbage.size(), abi::GraphFormat::kNative).result,
            ZE_RESULT_ERROR_INVALID_NATIVE_BINARY);
  EXPECT_EQ(make(garbage.data(), garbage.size(), static_cast<abi::GraphFormat>(7)).result,
            ZE_RESULT_ERROR_INVALID_ENUMERATION);
  EXPECT_EQ(make_ir(garbage, nullptr, 1u << 30).result, ZE_RESULT_ERROR_INVALID_ENUMERATION);
  EXPECT_NE(graphs->destroy(nullptr), ZE_RESULT_SUCCESS);
  EXPECT_NE(graphs->destroy(reinterpret_cast<abi::GraphHandle>(context)), ZE_RESULT_SUCCESS);
  graph = small();
  EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
  EXPECT_NE(graphs->destroy(graph), ZE_RESULT_SUCCESS);
  abi::GraphProperties properties;
  EXPECT_NE(graphs->get_properties(graph, &properties), ZE_RESULT_SUCCESS);
}

TEST_F(NpuGraph, ManyThreadsCompileAndRunAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([this] {
      for (int k = 0; k < 5; ++k) {
        const abi::GraphHandle graph = small();
        expect_it_computes(graph);
        EXPECT_EQ(graphs->destroy(graph), ZE_RESULT_SUCCESS);
      }
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace graph_test
}  // namespace tenon::npu::test
