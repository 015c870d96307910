// SPDX-License-Identifier: Apache-2.0
// The compiled-model cache with a real device: hits, misses, damage, encryption, eviction, many threads and processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include <tenon/graph/model.hpp>
#include <tenon/graph/model_ops.hpp>
#include <tenon/graph/readers/read_model.hpp>
#include <tenon/graph/writers/openvino_ir/ir_writer.hpp>
#include <tenon/runtime/model_cache.hpp>
#include <tenon/runtime/runtime.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Tensor noise(const Shape& shape, unsigned seed) {
  Tensor tensor(element::f32, shape);
  float* values = tensor.data<float>();
  for (std::size_t i = 0; i < tensor.element_count(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<float>(seed >> 8) / 8388608.f - 1.f;
  }
  return tensor;
}

/// Convolution, remains of BatchNorm, pooling by reshape, a dense layer: some constants are packed, some not. Nodes
/// have no names, as in models from code.
std::shared_ptr<Model> network(const PartialShape& shape = PartialShape{1, 3, 16, 16}, unsigned seed = 1) {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, shape);
  x->output(0).set_names({"image"});
  const auto constant = [&](const Shape& extents) {
    return std::make_shared<op::v0::Constant>(noise(extents, seed++))->output(0);
  };
  auto conv = std::make_shared<op::v1::Convolution>(x->output(0), constant({32, 3, 3, 3}),
                                                    std::vector<std::int64_t>{2, 2}, std::vector<std::int64_t>{1, 1},
                                                    std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1});
  auto scaled = std::make_shared<op::v1::Multiply>(conv->output(0), constant({1, 32, 1, 1}));
  auto biased = std::make_shared<op::v1::Add>(scaled->output(0), constant({1, 32, 1, 1}));
  auto relu = std::make_shared<op::v0::Relu>(biased->output(0));
  auto second = std::make_shared<op::v1::Convolution>(relu->output(0), constant({32, 32, 3, 3}),
                                                      std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1},
                                                      std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{1, 1});
  auto sum = std::make_shared<op::v1::Add>(second->output(0), relu->output(0));
  auto pattern = op::v0::Constant::create(element::i64, Shape{2}, {-1, 2048});
  auto flat = std::make_shared<op::v1::Reshape>(sum->output(0), pattern->output(0), false);
  auto dense = std::make_shared<op::v0::MatMul>(flat->output(0), constant({2048, 10}));
  auto soft = std::make_shared<op::v8::Softmax>(dense->output(0), 1);
  soft->output(0).set_names({"scores"});
  return std::make_shared<Model>(OutputVector{soft->output(0)}, ParameterVector{x}, "network");
}

std::vector<float> scores(CompiledModel model, unsigned seed = 9, std::size_t batch = 1) {
  auto request = model.create_infer_request();
  request.set_tensor("image", noise({batch, 3, 16, 16}, seed));
  request.infer();
  const Tensor out = request.get_tensor("scores");
  return {out.data<float>(), out.data<float>() + out.element_count()};
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
void write_file(const fs::path& path, const std::string& bytes) {
  fs::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

class ModelCache : public ::testing::Test {
 protected:
  void SetUp() override {
    cache::set_message_sink([this](const std::string& text) {
      const std::lock_guard lock(mutex);
      messages += text + '\n';
    });
  }
  void TearDown() override { cache::set_message_sink({}); }
  CompiledModel compile(const AnyMap& more = {}, std::shared_ptr<Model> model = network()) {
    AnyMap properties{cache_dir((folder / "c").string())};
    properties.insert(more.begin(), more.end());
    return core.compile_model(model, "CPU", properties);
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> all;
    std::error_code none;
    for (const auto& item : fs::directory_iterator(folder / "c", none)) all.push_back(item.path());
    return all;
  }
  fs::path entry() const {
    const auto all = entries();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? fs::path() : all.front();
  }
  static bool hit(const CompiledModel& model) { return model.get_property(loaded_from_cache); }

  const TemporaryFolder temporary;
  const fs::path folder = temporary.path();
  Core core;
  std::mutex mutex;
  std::string messages;
};

TEST_F(ModelCache, SecondCompilationComesFromTheCacheAndComputesTheSameBits) {
  auto cold = compile();
  EXPECT_FALSE(hit(cold));
  auto warm = compile();
  EXPECT_TRUE(hit(warm)) << messages;
  EXPECT_EQ(scores(warm), scores(cold));
  EXPECT_EQ(scores(warm), scores(core.compile_model(network(), "CPU")));
  EXPECT_EQ(warm.input().get_any_name(), "image");
  EXPECT_EQ(warm.get_property(model_name), "network");
  EXPECT_EQ(messages, "");
  struct stat status {};
  ASSERT_EQ(::stat(entry().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0440u) << "entries are used in place, so they must not be writable";
}

TEST_F(ModelCache, WithoutAFolderNothingIsCached) {
  EXPECT_FALSE(hit(core.compile_model(network(), "CPU")));
  EXPECT_FALSE(hit(core.compile_model(network(), "CPU", cache_dir(""))));
  EXPECT_TRUE(entries().empty());
}

TEST_F(ModelCache, FolderIsTakenFromCoreFromTheDeviceAndFromTheCall) {
  core.set_property(cache_dir((folder / "c").string()));
  EXPECT_EQ(core.get_property(cache_dir.name()).as<std::string>(), (folder / "c").string());
  EXPECT_FALSE(hit(core.compile_model(network(), "CPU")));
  EXPECT_TRUE(hit(core.compile_model(network(), "CPU")));
  core.set_property("CPU", cache_dir((folder / "own").string()));
  EXPECT_FALSE(hit(core.compile_model(network(), "CPU")));
  EXPECT_TRUE(hit(core.compile_model(network(), "CPU", cache_path(folder / "c"))));
  EXPECT_FALSE(hit(core.compile_model(network(), "CPU", cache_dir("")))) << "an empty folder switches the cache off";
}

TEST_F(ModelCache, AnotherModelIsAnotherEntryAndAHintIsNot) {
  compile();
  EXPECT_FALSE(hit(compile({}, network(PartialShape{1, 3, 16, 16}, 5)))) << "other weights";
  EXPECT_FALSE(hit(compile({}, network(PartialShape{2, 3, 16, 16})))) << "another shape";
  EXPECT_EQ(entries().size(), 3u);
  EXPECT_TRUE(hit(compile({hint::performance_mode(hint::PerformanceMode::THROUGHPUT)}))) << messages;
  EXPECT_TRUE(hit(compile({cache_mode(CacheMode::OPTIMIZE_SIZE)})));
  auto profiled = compile({enable_profiling(true)});
  EXPECT_TRUE(hit(profiled));
  auto request = profiled.create_infer_request();
  request.infer();
  EXPECT_FALSE(request.get_profiling_info().empty()) << "what the call asks for holds for a loaded model too";
}

TEST_F(ModelCache, DynamicModelsAreCachedToo) {
  const auto open = [] { return network(PartialShape{Dimension(), 3, 16, 16}); };
  auto cold = compile({}, open());
  auto warm = compile({}, open());
  EXPECT_TRUE(hit(warm)) << messages;
  EXPECT_EQ(scores(warm, 3, 2), scores(cold, 3, 2));
}

TEST_F(ModelCache, PlansForFramesAreCachedToo) {
  const FrameInfo info{kNv12, 32, 16, ColourSpace::kUnknown, ColourRange::kFull};
  const auto expected = [&](CompiledModel model) {
    auto request = model.create_infer_request();
    Frame frame = Frame::allocate(info);
    for (std::size_t i = 0; i < frame.plane_count(); ++i) {
      const Tensor& plane = frame.plane(i);
      for (std::size_t row = 0; row < plane.shape()[0]; ++row)
        std::memset(static_cast<char*>(plane.data()) + static_cast<std::ptrdiff_t>(row) * plane.byte_strides()[0], 90,
                    plane.size_bytes() / plane.shape()[0]);
    }
    request.set_frame(frame);
    request.infer();
    const Tensor out = request.get_tensor("scores");
    return std::vector<float>(out.data<float>(), out.data<float>() + out.element_count());
  };
  auto cold = compile({input_frames(info)});
  EXPECT_FALSE(hit(cold));
  auto warm = compile({input_frames(info)});
  EXPECT_TRUE(hit(warm)) << messages;
  EXPECT_EQ(expected(warm), expected(cold));
  EXPECT_FALSE(hit(compile())) << "the model without an input stage is another one";
}

TEST_F(ModelCache, FileIsCompiledWithoutReadingItAndAChangedOneAnew) {
  const fs::path xml = folder / "m.xml", bin = folder / "m.bin";
  serialize(*network(), xml);
  const AnyMap properties{cache_dir((folder / "c").string())};
  auto cold = core.compile_model(xml, "CPU", properties);
  EXPECT_FALSE(hit(cold));
  auto warm = core.compile_model(xml, "CPU", properties);
  EXPECT_TRUE(hit(warm)) << messages;
  EXPECT_EQ(scores(warm), scores(cold));
  serialize(*network(PartialShape{1, 3, 16, 16}, 77), xml);
  auto other = core.compile_model(xml, "CPU", properties);
  EXPECT_FALSE(hit(other)) << "the weights changed";
  EXPECT_NE(scores(other), scores(cold));
  fs::last_write_time(bin, fs::last_write_time(bin) + std::chrono::hours(1));
  EXPECT_FALSE(hit(core.compile_model(xml, "CPU", properties)));
}

TEST_F(ModelCache, EveryFlippedByteOfTheHeadersIsAMiss) {
  const auto expected = scores(compile());
  const fs::path file = entry();
  const std::string sound = read_file(file);
  ASSERT_GT(sound.size(), 8192u);
  // The entry's header and description, the device's header after them, and samples of the rest.
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < 4096; i += i < 256 ? 1 : 61) positions.push_back(i);
  for (std::size_t i = 4096; i < 4096 + 512; i += 7) positions.push_back(i);
  for (std::size_t i = 4096 + 512; i < sound.size(); i += sound.size() / 40) positions.push_back(i);
  positions.push_back(sound.size() - 1);
  for (const std::size_t position : positions) {
    std::string bytes = sound;
    bytes[position] = static_cast<char>(bytes[position] ^ 0x10);
    write_file(file, bytes);
    messages.clear();
    auto model = compile();
    ASSERT_FALSE(hit(model)) << "byte " << position;
    ASSERT_THAT(messages, HasSubstr("is not used")) << position;
    ASSERT_TRUE(hit(compile())) << "a damaged entry is written anew; byte " << position;
  }
  EXPECT_EQ(scores(compile()), expected);
}

TEST_F(ModelCache, EveryTruncationIsAMiss) {
  compile();
  const fs::path file = entry();
  const std::string sound = read_file(file);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{111}, std::size_t{112},
        std::size_t{113}, std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, std::size_t{4096 + 511},
        std::size_t{4096 + 512}, std::size_t{4096 + 513}, sound.size() / 2, sound.size() - 4096, sound.size() - 1}) {
    write_file(file, sound.substr(0, size));
    EXPECT_FALSE(hit(compile())) << size;
    EXPECT_TRUE(hit(compile())) << size;
  }
  write_file(file, sound + "x");
  EXPECT_FALSE(hit(compile())) << "bytes after its end";
  write_file(file, std::string(100000, '\0'));
  EXPECT_FALSE(hit(compile()));
}

TEST_F(ModelCache, AnEntryUnderAnothersNameIsFoundOut) {
  const auto other = [] { return network(PartialShape{1, 3, 16, 16}, 5); };
  const auto expected = scores(compile());
  const fs::path one = entry();
  const auto expected_of_other = scores(compile({}, other()));
  ASSERT_NE(expected, expected_of_other);
  fs::path two;
  for (const fs::path& file : entries())
    if (file != one) two = file;
  fs::copy_file(two, folder / "kept");
  fs::rename(two, one);
  fs::copy_file(folder / "kept", two);
  int unsound = 0;
  for (const auto& report : cache::verify(folder / "c")) {
    unsound += !report.sound;
    EXPECT_EQ(report.sound, report.file != one) << report.reason;
    if (!report.sound) {
      EXPECT_THAT(report.reason, HasSubstr(two.stem().string()));
    }
  }
  EXPECT_EQ(unsound, 1);
  auto model = compile();
  EXPECT_FALSE(hit(model));
  EXPECT_THAT(messages, HasSubstr("renamed or copied"));
  EXPECT_EQ(scores(model), expected);
  EXPECT_TRUE(hit(compile())) << "it was written anew";
  auto found = compile({}, other());
  EXPECT_TRUE(hit(found)) << messages;
  EXPECT_EQ(scores(found), expected_of_other);
}

TEST_F(ModelCache, LeftoversOfAKilledWriterOfTheSameNumberBlockNothing) {
  compile();
  const std::string name = entry().string();
  fs::remove(name);
  // Left by a killed process with the same id: in containers every first process has id 1.
  for (int serial = 0; serial < 64; ++serial)
    write_file(name + '.' + std::to_string(::getpid()) + '.' + std::to_string(serial) + ".part", "half");
  compile();
  EXPECT_EQ(messages, "");
  EXPECT_TRUE(hit(compile()));
  EXPECT_EQ(entry(), name) << "and they are gone";
}

TEST_F(ModelCache, AFifoAtAnEntrysPlaceHoldsNobodyUp) {
  compile();
  const fs::path file = entry();
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  ::alarm(60);  // Ends the test if a reader waits for a writer.
  EXPECT_FALSE(hit(compile()));
  ::alarm(0);
  EXPECT_THAT(messages, HasSubstr("FIFO"));
  EXPECT_TRUE(hit(compile())) << "the entry took its place";
}

TEST_F(ModelCache, ForeignBlobsAreRefusedWithTheReason) {
  std::stringstream blob;
  compile().export_model(blob);
  const std::string sound = blob.str();
  auto imported = core.import_model(blob, "CPU");
  EXPECT_EQ(scores(imported), scores(compile()));
  EXPECT_FALSE(hit(imported));
  const auto refusal = [&](const std::string& bytes) {
    std::istringstream stream(bytes);
    try {
      core.import_model(stream, "CPU");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refusal("<?xml version=\"1.0\"?><compiled_blob/>" + std::string(600, ' ')),
              HasSubstr("no compiled blob"));
  EXPECT_THAT(refusal(""), HasSubstr("damaged"));
  for (std::size_t i = 0; i < 512; ++i) {
    std::string bytes = sound;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    ASSERT_NE(refusal(bytes), "taken") << "byte " << i;
  }
  std::string bytes = sound;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  EXPECT_THAT(refusal(bytes), HasSubstr("hash"));
  EXPECT_THAT(refusal(sound.substr(0, sound.size() - 1)), HasSubstr("truncated"));
}

TEST_F(ModelCache, EncryptsOncePerWriteAndDecryptsOncePerLoad) {
  int encrypted = 0, decrypted = 0;
  const auto turn = [](std::string text) {
    for (char& c : text) c = static_cast<char>(c ^ 0x5A);
    return text;
  };
  EncryptionCallbacks callbacks{[&](const std::string& text) { return ++encrypted, turn(text); },
                                [&](const std::string& text) { return ++decrypted, turn(text); }};
  const AnyMap with{{cache_encryption_callbacks.name(), Any(callbacks)}};
  const auto expected = scores(compile(with));
  EXPECT_EQ(encrypted, 1);
  EXPECT_EQ(decrypted, 0);
  EXPECT_EQ(read_file(entry()).find("<net"), std::string::npos) << "the graph must not stand there in plain text";
  auto warm = compile(with);
  EXPECT_TRUE(hit(warm)) << messages;
  EXPECT_EQ(decrypted, 1);
  EXPECT_EQ(encrypted, 1);
  EXPECT_EQ(scores(warm), expected);
  EXPECT_FALSE(hit(compile())) << "without callbacks an encrypted entry is of no use";
  fs::remove(entry());
  compile(with);
  EncryptionCallbacks wrong{callbacks.encrypt,
                            [](const std::string&) -> std::string { throw std::runtime_error("no key"); }};
  messages.clear();
  EXPECT_FALSE(hit(compile({{cache_encryption_callbacks.name(), Any(wrong)}})));
  EXPECT_THAT(messages, HasSubstr("no key"));
  EncryptionCallbacks garbage{callbacks.encrypt, [](const std::string&) { return std::string("garbage"); }};
  EXPECT_FALSE(hit(compile({{cache_encryption_callbacks.name(), Any(garbage)}})));
  // This applies to exports too.
  std::stringstream blob;
  compile(with).export_model(blob);
  EXPECT_THROW(core.import_model(blob, "CPU"), Error);
  blob.clear();
  blob.seekg(0);
  EXPECT_EQ(scores(core.import_model(blob, "CPU", with)), expected);
}

TEST_F(ModelCache, CompilesWhereNothingCanBeWrittenAndSaysWhy) {
  write_file(folder / "file", "in the way");
  auto model = core.compile_model(network(), "CPU", cache_dir((folder / "file" / "c").string()));
  EXPECT_FALSE(scores(model).empty());
  EXPECT_THAT(messages, HasSubstr("is not cached"));
  messages.clear();
  EXPECT_NO_THROW(core.compile_model(network(), "CPU", cache_dir("/proc/tenon_cache")));
  EXPECT_THAT(messages, HasSubstr("/proc/tenon_cache"));
  // The folder disappears after it was set.
  compile();
  fs::remove_all(folder / "c");
  EXPECT_FALSE(hit(compile()));
  EXPECT_TRUE(hit(compile())) << "the folder is made again";
}

TEST_F(ModelCache, FullDiskLeavesNothingBehind) {
  // A limit on file sizes makes writes fail as on a full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 6000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto model = compile();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  EXPECT_FALSE(scores(model).empty());
  EXPECT_THAT(messages, HasSubstr("File too large"));
  EXPECT_TRUE(entries().empty()) << "no half entry, no temporary file";
}

TEST_F(ModelCache, EvictsWhatWasUsedLongestAgo) {
  compile();
  const std::uint64_t one = fs::file_size(entry());
  const AnyMap limit{cache_size_limit(2 * one + one / 2)};
  const auto model = [](unsigned seed) { return network(PartialShape{1, 3, 16, 16}, seed); };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  compile(limit, model(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(hit(compile(limit))) << "used again: now the other is the oldest";
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  compile(limit, model(60));
  EXPECT_EQ(entries().size(), 2u);
  EXPECT_TRUE(hit(compile(limit)));
  EXPECT_TRUE(hit(compile(limit, model(60))));
  EXPECT_FALSE(hit(compile(limit, model(50))));
}

TEST_F(ModelCache, BlobIdNamesTheEntry) {
  compile({cache_blob_id(746352)});
  EXPECT_TRUE(hit(compile({cache_blob_id(746352)}))) << messages;
  EXPECT_FALSE(hit(compile({cache_blob_id(746353)})));
  auto without = core.compile_model(std::shared_ptr<Model>(), "CPU",
                                    AnyMap{cache_dir((folder / "c").string()), cache_blob_id(746352)});
  EXPECT_EQ(scores(without), scores(compile()));
  EXPECT_THROW(
      core.compile_model(std::shared_ptr<Model>(), "CPU", AnyMap{cache_dir((folder / "c").string()), cache_blob_id(1)}),
      Error);
}

TEST_F(ModelCache, ModelPathSparesHashingTheWeights) {
  const fs::path xml = folder / "m.xml";
  serialize(*network(), xml);
  const AnyMap properties{{cache_model_path.name(), Any(xml)}};
  compile(properties, core.read_model(xml));
  EXPECT_TRUE(hit(compile(properties, core.read_model(xml)))) << messages;
  auto reshaped = core.read_model(xml);
  reshaped->reshape(PartialShape{2, 3, 16, 16});
  EXPECT_FALSE(hit(compile(properties, reshaped))) << "what was changed since it was read counts";
}

TEST_F(ModelCache, OptimizeSizeLeavesOutTheWeights) {
  const AnyMap small{cache_mode(CacheMode::OPTIMIZE_SIZE)};
  const auto expected = scores(compile());
  const auto large = fs::file_size(entry());
  fs::remove(entry());
  EXPECT_FALSE(hit(compile(small)));
  EXPECT_LT(fs::file_size(entry()), large / 4);
  auto warm = compile(small);
  EXPECT_TRUE(hit(warm)) << messages;
  EXPECT_EQ(scores(warm), expected);
  fs::remove(entry());
  EXPECT_FALSE(hit(compile({enable_weightless(true)}))) << "the property overrides the mode";
  EXPECT_LT(fs::file_size(entry()), large / 4);
  fs::remove(entry());
  // From files, with weights that change afterwards.
  const fs::path xml = folder / "m.xml";
  serialize(*network(), xml);
  const AnyMap properties{cache_dir((folder / "f").string()), cache_mode(CacheMode::OPTIMIZE_SIZE)};
  EXPECT_EQ(scores(core.compile_model(xml, "CPU", properties)), expected);
  auto loaded = core.compile_model(xml, "CPU", properties);
  EXPECT_TRUE(hit(loaded)) << messages;
  EXPECT_EQ(scores(loaded), expected);
}

TEST_F(ModelCache, ListVerifyAndClear) {
  compile();
  compile({}, network(PartialShape{1, 3, 16, 16}, 5));
  write_file(folder / "c" / "7823456.blob", "another program's");
  write_file(folder / "c" / "download.part", "another program's");
  write_file(folder / "c" / "0123456789abcdef0123456789abcdef.blob.1.0.part", "ours, left behind");
  auto all = cache::list(folder / "c");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].model, "network");
  EXPECT_EQ(all[0].device, "CPU");
  EXPECT_TRUE(all[0].sound);
  std::string bytes = read_file(all[0].file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(all[0].file, bytes);
  int damaged = 0;
  for (const auto& entry : cache::verify(folder / "c")) damaged += !entry.sound;
  EXPECT_EQ(damaged, 1);
  EXPECT_EQ(cache::clear(folder / "c"), 2u);
  EXPECT_EQ(entries().size(), 2u) << "what is not ours stays";
  EXPECT_THROW(cache::list(folder / "none"), Error);
}

TEST_F(ModelCache, ManyThreadsCompileOneModel) {
  const auto expected = scores(core.compile_model(network(), "CPU"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, cold{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      auto model = compile();
      cold += !hit(model);
      wrong += scores(model) != expected;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cold, 1) << "one compiles, the others wait for its entry";
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(ModelCache, ProcessesThatMeetNeverSeeHalfAnEntry) {
  if (const char* shared = std::getenv("TENON_CACHE_TEST_FOLDER")) {
    // The child compiles repeatedly while others replace the entry.
    for (int i = 0; i < 20; ++i) {
      auto model = core.compile_model(network(), "CPU", cache_dir(shared));
      if (i % 3 == 2) cache::clear(shared);
      ASSERT_EQ(scores(model), scores(core.compile_model(network(), "CPU")));
    }
    ASSERT_THAT(messages, ::testing::Not(HasSubstr("damaged")));
    return;
  }
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string command = "TENON_CACHE_TEST_FOLDER='" + (folder / "c").string() + "' '" + self +
                              "' --gtest_filter='*ProcessesThatMeet*' >/dev/null 2>&1";
  int failed = 0;
  std::vector<std::thread> children;
  std::atomic<int> failures{0};
  for (int i = 0; i < 3; ++i) children.emplace_back([&] { failures += std::system(command.c_str()) != 0; });
  for (auto& child : children) child.join();
  failed = failures;
  EXPECT_EQ(failed, 0);
  for (const auto& path : entries()) EXPECT_EQ(path.extension(), ".blob") << "no temporary file stays";
}

TEST_F(ModelCache, ABlobKeepsItsPrecision) {
  for (const element::Type precision : {element::f32, element::bf16}) {
    const auto made = core.compile_model(network(), "CPU", hint::inference_precision(precision));
    std::stringstream blob;
    CompiledModel(made).export_model(blob);
    const auto imported = core.import_model(blob, "CPU");
    EXPECT_EQ(imported.get_property(hint::inference_precision), precision);
    EXPECT_EQ(scores(imported), scores(made));
    blob.clear();
    blob.seekg(0);
    const element::Type other = precision == element::f32 ? element::bf16 : element::f32;
    EXPECT_THROW(core.import_model(blob, "CPU", hint::inference_precision(other)), Error);
  }
}

/// Values valid for any input: indices below the smallest vocabulary, or noise.
Tensor some_input(const Output<const Node>& port) {
  if (port.get_element_type() == element::f32) return noise(port.get_shape(), 5);
  Tensor tensor(port.get_element_type(), port.get_shape());
  const std::size_t width = tensor.size_bytes() / tensor.element_count();
  std::memset(tensor.data(), 0, tensor.size_bytes());
  for (std::size_t i = 0; i < tensor.element_count(); ++i)
    static_cast<unsigned char*>(tensor.data())[i * width] = static_cast<unsigned char>(i % 5);
  return tensor;
}

/// The bytes of all outputs of two consecutive inferences, so that states are covered.
std::string answer(CompiledModel model) {
  auto request = model.create_infer_request();
  for (std::size_t i = 0; i < model.inputs().size(); ++i) request.set_input_tensor(i, some_input(model.input(i)));
  std::string bytes;
  for (int run = 0; run < 2; ++run) {
    request.infer();
    for (std::size_t i = 0; i < model.outputs().size(); ++i) {
      const Tensor out = request.get_output_tensor(i);
      bytes.append(static_cast<const char*>(out.data()), out.size_bytes());
    }
  }
  return bytes;
}

// Kernels pack constants differently: a model loaded from an entry must compute the same bits.
TEST_F(ModelCache, TheZooAnswersTheSameFromEntries) {
  const char* zoo = std::getenv("TENON_ZOO");
  if (!zoo || !fs::exists(zoo)) GTEST_SKIP() << "no zoo models: TENON_ZOO names no folder";
  std::size_t count = 0;
  for (const auto& item : fs::directory_iterator(zoo)) {
    const std::string name = item.path().filename().string();
    if (!name.ends_with("_tiny.onnx") && !name.ends_with("_tiny.xml")) continue;
    for (const element::Type precision : {element::f32, element::bf16}) {
      SCOPED_TRACE(name + " in " + precision.to_string());
      AnyMap properties{hint::inference_precision(precision)};
      const std::string expected = answer(core.compile_model(item.path(), "CPU", properties));
      properties.insert(cache_dir((folder / "z").string()));
      EXPECT_EQ(answer(core.compile_model(item.path(), "CPU", properties)), expected) << "while it writes the entry";
      auto loaded = core.compile_model(item.path(), "CPU", properties);
      EXPECT_TRUE(loaded.get_property(loaded_from_cache)) << messages;
      EXPECT_EQ(answer(loaded), expected);
      ++count;
    }
  }
  EXPECT_GE(count, 20u);
}

}  // namespace
}  // namespace tenon
