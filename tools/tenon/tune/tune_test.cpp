// SPDX-License-Identifier: Apache-2.0
// Comparisons of ways whose speed is known, the search for streams with a machine that takes so many, and the knobs of pipelines.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tenon/elements/pipeline_spec.hpp>

#include <tenon/tools/tenon/shared/pipeline_file.hpp>
#include <tenon/tools/tenon/tune/compare.hpp>
#include <tenon/tools/tenon/tune/knobs.hpp>
#include <tenon/tools/tenon/tune/streams.hpp>
#include <tenon/tools/tenon/tune/trial.hpp>

namespace tenon::tool {
namespace tune_test {

/// Measurements around `value` with noise of a known spread.
class Way {
 public:
  Way(double value, double spread, unsigned seed) : value_(value), noise_(0, spread), random_(seed) {}
  Score operator()() {
    ++count;
    return {value_ * (1 + noise_(random_)), 10, true, ""};
  }
  std::size_t count = 0;

 private:
  double value_;
  std::normal_distribution<double> noise_;
  std::mt19937 random_;
};

const auto kAlways = [] { return true; };

TEST(TuneCompare, TakesWhatIsFasterBeyondNoise) {
  Way slow(100, 0.02, 1), fast(115, 0.02, 2);
  const PairedComparison one = compare(std::ref(slow), std::ref(fast), {}, kAlways);
  EXPECT_TRUE(one.is_better) << one.why;
  EXPECT_NEAR(one.ratio, 1.15, 0.04);
  EXPECT_LT(one.low, one.ratio);
  EXPECT_GT(one.high, one.ratio);
  EXPECT_EQ(slow.count, 6u);
  EXPECT_EQ(fast.count, 6u);
}

TEST(TuneCompare, RarelyTakesWhatIsEqual) {
  int taken = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Way a(100, 0.05, 2 * seed + 1), b(100, 0.05, 2 * seed + 2);
    taken += compare(std::ref(a), std::ref(b), {}, kAlways).is_better;
  }
  EXPECT_LT(taken, 20) << "2.5% of 400 are 10";
}

TEST(TuneCompare, GivesUpEarlyWhatIsSlower) {
  Way fast(100, 0.01, 1), slow(60, 0.01, 2), bit(97, 0.001, 3);
  const PairedComparison hopeless = compare(std::ref(fast), std::ref(slow), {}, kAlways);
  EXPECT_FALSE(hopeless.is_better);
  EXPECT_EQ(slow.count, 1u);
  const PairedComparison one = compare(std::ref(fast), std::ref(bit), {}, kAlways);
  EXPECT_FALSE(one.is_better);
  EXPECT_EQ(bit.count, 2u);
  EXPECT_EQ(one.why, "no faster");
}

TEST(TuneCompare, DoesNotTakeALittle) {
  Way a(100, 0, 1), b(101, 0, 2);
  const PairedComparison one = compare(std::ref(a), std::ref(b), {}, kAlways);
  EXPECT_FALSE(one.is_better);
  EXPECT_EQ(one.why, "gains less than 2%");
}

TEST(TuneCompare, KeepsTheBoundOfLatency) {
  Way fast(100, 0, 1), slow(50, 0, 2);
  const auto late = [&] {
    Score one = fast();
    one.is_in_bound = false;
    return one;
  };
  const PairedComparison kept = compare(late, std::ref(slow), {}, kAlways);
  EXPECT_TRUE(kept.is_better) << kept.why;
  const PairedComparison broken = compare(std::ref(slow), late, {}, kAlways);
  EXPECT_FALSE(broken.is_better);
  EXPECT_NE(broken.why.find("breaks the bound"), std::string::npos);
}

TEST(TuneCompare, SaysWhatDidNotRunAndWhatWasNotDecided) {
  Way way(100, 0, 1);
  const PairedComparison failed = compare(
      std::ref(way),
      [] {
        return Score{0, 0, true, "no such batch"};
      },
      {}, kAlways);
  EXPECT_FALSE(failed.is_better);
  EXPECT_EQ(failed.why, "does not run: no such batch");
  int left = 2;
  const PairedComparison cut = compare(std::ref(way), std::ref(way), {}, [&] { return left-- > 0; });
  EXPECT_FALSE(cut.is_better);
  EXPECT_EQ(cut.new_values.size(), 2u);
}

/// A machine that takes `most` streams.
StreamsResult on_machine(std::size_t most, StreamsOptions options = {}, std::vector<std::size_t>* tried = nullptr) {
  return find_streams(
      options,
      [&](std::size_t streams) {
        TrialResult result;
        result.seconds = 1;
        for (std::size_t i = 0; i < streams; ++i)
          result.streams.push_back(
              {static_cast<std::uint32_t>(i), 100, i + 1 == streams && streams > most ? 50u : 0u, 100});
        return result;
      },
      [&](const StreamsTrial& trial) {
        if (tried) tried->push_back(trial.streams);
      });
}

TEST(TuneStreams, FindsWhatAMachineTakes) {
  for (const std::size_t most : {0, 1, 2, 3, 7, 8, 9, 30}) EXPECT_EQ(on_machine(most).streams, most);
  std::vector<std::size_t> tried;
  EXPECT_EQ(on_machine(5, {}, &tried).streams, 5u);
  EXPECT_EQ(tried, (std::vector<std::size_t>{1, 2, 4, 8, 6, 5, 5, 6}));
  StreamsOptions few;
  few.most = 6;
  const StreamsResult cut = on_machine(100, few);
  EXPECT_EQ(cut.streams, 6u);
  EXPECT_TRUE(cut.is_most);
  EXPECT_FALSE(on_machine(3).is_most);
  // 3 and 4 keep up in their first window alone.
  std::map<std::size_t, int> windows;
  StreamsOptions four;
  four.most = 4;
  const auto unsteady = find_streams(
      four,
      [&](std::size_t streams) {
        TrialResult result;
        result.seconds = 1;
        const std::uint64_t late = streams > 2 && ++windows[streams] > 1 ? 50 : 0;
        for (std::uint32_t i = 0; i < streams; ++i) result.streams.push_back({i, 100, late, 100});
        return result;
      },
      [](const StreamsTrial&) {});
  EXPECT_EQ(unsteady.streams, 2u) << "an answer has kept up twice";
}

TEST(TuneStreams, CountsMissingFramesAndTheWorstStream) {
  const TrialResult::Stream whole{0, 99, 0, 100}, half{1, 50, 0, 100}, late{2, 100, 30, 100}, none{3, 0, 0, 0};
  EXPECT_EQ(whole.bad_share(), 0) << "the window cuts a frame at each end";
  EXPECT_NEAR(half.bad_share(), 0.48, 1e-9);
  EXPECT_NEAR(late.bad_share(), 0.3, 1e-9);
  EXPECT_EQ(none.bad_share(), 1);
  TrialResult all;
  EXPECT_EQ(all.worst_share(), 1) << "no stream";
  all.streams = {whole, half, late};
  EXPECT_NEAR(all.worst_share(), 0.48, 1e-9);
}

constexpr const char* kFile = R"({
  // Two sources.
  "nodes": [
    {"element": "test", "name": "door", "parameters": {"fps": 30}},
    {"element": "test", "parameters": {"fps": 10}},
    {"element": "throttle", "from": ["door", "test"], "queue": {"size": 3}},
    {"element": "convert"},
    {"element": "json", "parameters": {"path": "results.jsonl"}}
  ]})";

TEST(TuneKnobs, ChangeOnlyTheirParameter) {
  const elements::PipelineSpec spec = named(read_pipeline(std::string(kFile), "f.json"));
  std::vector<std::string> knobs;
  for (const Knob& knob : knobs_of(spec, {}, 4))
    knobs.push_back(knob.node + "." + knob.parameter + " " + value_of(spec, knob));
  EXPECT_EQ(knobs, (std::vector<std::string>{"convert.by auto", "throttle.queue 3", "json.queue 4"}));
  const std::vector<std::string> names = names_of(read_pipeline(std::string(kFile), "f.json"));
  EXPECT_EQ(names, (std::vector<std::string>{"door", "test", "throttle", "convert", "json"}));
  const std::string changed = with_changes(
      kFile, names, {{"throttle", "queue", "8"}, {"convert", "by", "cpu"}, {"convert", "properties:NUM_STREAMS", "2"}});
  const auto document = nlohmann::json::parse(changed);
  EXPECT_EQ(document["nodes"][2]["queue"]["size"], 8);
  EXPECT_EQ(document["nodes"][3]["parameters"]["by"], "cpu");
  EXPECT_EQ(document["nodes"][3]["parameters"]["properties"], "NUM_STREAMS=2");
  EXPECT_EQ(document["nodes"][0]["parameters"]["fps"], 30);
  EXPECT_EQ(document["nodes"][1]["parameters"].size(), 1u);
}

TEST(TuneKnobs, OfModels) {
  const elements::PipelineSpec spec = named(read_pipeline(
      std::string(
          R"({"nodes":[{"element":"test"},{"element":"infer","parameters":{"model":"m.onnx","properties":"NUM_STREAMS=2 A=b"}},{"element":"null"}]})"),
      "f.json"));
  const std::vector<Knob> knobs = knobs_of(spec, {"CPU", "GPU"}, 4);
  ASSERT_GE(knobs.size(), 5u);
  EXPECT_EQ(knobs[0].parameter, "device");
  EXPECT_EQ(value_of(spec, knobs[0]), "CPU");
  EXPECT_EQ(value_of(spec, knobs[1]), "2");
  EXPECT_EQ(value_of(spec, knobs[2]), "auto");
  elements::PipelineSpec changed = spec;
  apply(changed, {"infer", "properties:NUM_STREAMS", "4"});
  EXPECT_EQ(changed.nodes[1].parameters["properties"], "A=b NUM_STREAMS=4");
  apply(changed, {"infer", "properties:NUM_STREAMS", "auto"});
  EXPECT_EQ(changed.nodes[1].parameters["properties"], "A=b");
}

TEST(TuneTrial, CopiesAndLeavesOutStreams) {
  const ScratchFolder scratch;
  const elements::PipelineSpec spec =
      repeatable(named(read_pipeline(std::string(kFile), "f.json")), scratch.path(), false);
  const auto sources = [](const elements::PipelineSpec& one) { return elements::plan_pipeline(one).streams; };
  for (const std::size_t count : {1, 2, 3, 5}) EXPECT_EQ(sources(with_streams(spec, count)), count);
  elements::PipelineSpec copies = with_streams(spec, 3);
  apply(copies, {"door", "fps", "15"});
  int changed = 0;
  for (const auto& node : copies.nodes) changed += node.element == "test" && node.parameters.at("fps") == "15";
  EXPECT_EQ(changed, 2);
}

TEST(TuneTrial, MeasuresWhatPassesAndWhatIsLate) {
  const ScratchFolder scratch;
  const auto run = [&](const std::string& middle, bool real_time) {
    const std::string text = R"({"nodes":[{"element":"test","parameters":{"width":64,"height":48,"fps":50}},)" +
                             middle + R"({"element":"null"}]})";
    TrialOptions options;
    options.warm_up_s = 0.1;
    options.seconds = 1;
    return run_trial(repeatable(named(read_pipeline(text, "f.json")), scratch.path(), real_time), options);
  };
  const TrialResult paced = run("", true);
  ASSERT_EQ(paced.failure, "");
  EXPECT_NEAR(paced.fps(), 50, 8);
  EXPECT_GT(paced.p99_ms, 0);
  const TrialResult slow = run(R"({"element":"throttle","parameters":{"fps":20,"how":"wait"}},)", true);
  ASSERT_EQ(slow.failure, "");
  EXPECT_NEAR(slow.fps(), 20, 5);
  EXPECT_GT(slow.worst_share(), 0.4);
  const TrialResult fast = run("", false);
  EXPECT_GT(fast.fps(), 200);
  const TrialResult wrong = run(R"({"element":"infer","parameters":{"model":"/nonexistent/m.onnx"}},)", false);
  EXPECT_NE(wrong.failure.find("/nonexistent/m.onnx"), std::string::npos) << wrong.failure;
}

}  // namespace tune_test
}  // namespace tenon::tool
