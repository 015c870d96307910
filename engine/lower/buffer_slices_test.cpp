// SPDX-License-Identifier: Apache-2.0
// Values that share memory: parts of one value, results in place, tensors that the user binds twice. Random
// graphs of these are in tests/graphs.
#include <tenon/engine/staged.hpp>
#include <tenon/engine/testing/judged_models.hpp>
#include <tenon/graph/subgraph.hpp>

namespace tenon::engine_test {
namespace buffer_slices_test {

using op::v0::Constant;
using op::v0::Parameter;

Out relu(const Out& x) { return op1("Relu", 1, {x}); }
/// [begin, end) of axis 1; a negative end counts from the end.
Out part(const Out& x, std::int64_t begin, std::int64_t end) {
  return op1("Slice", 8, {x, ints({begin}), ints({end}), ints({1}), ints({1})});
}
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

Out differences(const Out& x) {
  const Out h = relu(x);
  return op1("Subtract", 1, {part(h, 1, kEnd), part(h, 0, -1)});
}

TEST(Places, PartsOfOneValueThatOverlapAreCombinedRightly) {
  for (const Shape& shape : {Shape{1, 64, 32}, Shape{1, 1000, 64}})
    for (const char* type : {"Add", "Subtract", "Multiply", "Divide", "Maximum", "Minimum"})
      for (const bool later_first : {true, false}) {
        if (shape[1] > 64 && std::string_view(type) != "Subtract") continue;
        SCOPED_TRACE(std::string(type) + to_string(shape) + (later_first ? " later first" : ""));
        const auto x = parameter(shape);
        // No part may be zero: the result of a division by zero hides its operands.
        const Out h = op1("Add", 1, {relu(x), scalar(1)});
        const Out earlier = part(h, 0, -1), later = part(h, 1, kEnd);
        judge(op1(type, 1, {later_first ? later : earlier, later_first ? earlier : later}), {x});
      }
}

TEST(Places, MeansAndSumsOfPartsAreRight) {
  const auto x = parameter({1, 64, 32});
  const Out h = relu(x);
  const Out sum = op1("Add", 1, {op1("Add", 1, {part(h, 2, kEnd), part(h, 1, -1)}), part(h, 0, -2)});
  judge(op1("Divide", 1, {sum, scalar(3)}), {x});
  judge(op1("Multiply", 1, {op1("Add", 1, {part(h, 1, kEnd), part(h, 0, -1)}), scalar(0.5)}), {x});
}

TEST(Places, PartsThatLieApartAreOverwritten) {
  const auto x = parameter({1, 64, 32});
  const auto halves = make_node("Split", 1, {relu(x), scalar_int(1)}, {{"num_splits", std::int64_t{2}}});
  const Out sum = op1("Add", 1, {halves->output(0), halves->output(1)});
  judge(op1("Multiply", 1, {op1("Tanh", 1, {sum}), sum}), {x});
  // In place while the other half is still to be read.
  const Out joined = op1("Concat", 1, {op1("Tanh", 1, {halves->output(1)}), op1("Exp", 1, {halves->output(0)})},
                         {{"axis", std::int64_t{1}}});
  judge(joined, {x});
}

TEST(Places, ASumInPlaceLeavesWhatTheKernelReads) {
  // The residual is a part of the product's input, or lies beside it.
  const auto x = parameter({2, 16, 8});
  const Out h = relu(x);
  const auto product = [&](const Out& a) {
    return op1("MatMul", 1, {a, weights({8, 8})}, {{"transpose_a", false}, {"transpose_b", false}});
  };
  const auto batches = make_node("Split", 1, {h, scalar_int(0)}, {{"num_splits", std::int64_t{2}}});
  judge(op1("Add", 1, {product(batches->output(0)), batches->output(1)}), {x});
  judge(op1("Add", 1, {product(batches->output(0)), batches->output(0)}), {x});
  judge(op1("Add", 1, {product(part(h, 0, 8)), part(h, 4, 12)}), {x});
}

TEST(Places, PartsAreCombinedRightlyWithinBodies) {
  const auto flag = parameter(Shape{}, element::boolean);
  const auto x = parameter({1, 64, 32});
  const auto open = [] { return std::make_shared<Parameter>(element::f32, PartialShape::dynamic()); };
  const auto then_x = open(), else_x = open();
  const auto branch = std::make_shared<op::v8::If>(flag);
  branch->set_then_body(std::make_shared<Model>(OutputVector{differences(then_x)}, ParameterVector{then_x}));
  branch->set_else_body(
      std::make_shared<Model>(OutputVector{op1("Negative", 1, {differences(else_x)})}, ParameterVector{else_x}));
  branch->set_input(x, then_x, else_x);
  judge(branch->set_output(branch->get_then_body()->get_results()[0], branch->get_else_body()->get_results()[0]),
        {flag, x});

  const auto state = open();
  const auto truth = [] { return std::make_shared<Constant>(element::boolean, Shape{}, std::vector<std::int64_t>{1}); };
  const Out next = op1("Concat", 1, {differences(state), part(state, 0, 1)}, {{"axis", std::int64_t{1}}});
  const auto loop = std::make_shared<op::v5::Loop>(scalar_int(3), truth());
  loop->set_function(std::make_shared<Model>(OutputVector{truth(), next}, ParameterVector{state}));
  loop->set_special_body_ports({-1, 0});
  loop->set_merged_input(state, x, next);
  judge(loop->get_iter_value(next), {x});
}

TEST(Places, PartsAreCombinedRightlyInModelsOfOpenShapes) {
  const auto x = std::make_shared<Parameter>(element::f32, PartialShape{1, -1, 32});
  const auto model = std::make_shared<Model>(OutputVector{differences(x)}, ParameterVector{x});
  engine::Options options;
  options.threads = 2;
  engine::Staged staged(options);
  engine::Workers workers(2);
  for (const std::size_t rows : {64, 9, 64}) {
    const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, {1, rows, 32}, 3)};
    expect_close(evaluate(*model, inputs)[0], staged.run(model, inputs, workers).at(0), std::to_string(rows));
  }
}

TEST(Places, OutputsMayLieInInputs) {
  // y = x0 - x1 over x1's memory, and x0 itself over another's; in staged runs the caller alone owns the outputs.
  const auto a = std::make_shared<Parameter>(element::f32, PartialShape{-1}),
             b = std::make_shared<Parameter>(element::f32, PartialShape{-1});
  const OutputVector outputs{op1("Subtract", 1, {a, b}), a,
                             op1("NonZero", 3, {a}, {{"output_type", ElementType::kI64}})};
  const auto model = std::make_shared<Model>(outputs, ParameterVector{a, b});
  engine::Staged staged(engine::Options{});
  engine::Workers workers(1);
  const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, {6}, 1), random_tensor(ElementType::kF32, {6}, 2)};
  const auto made = staged.run(model, inputs, workers);
  for (const Tensor& output : made)
    for (const Tensor& input : inputs) EXPECT_NE(output.data(), input.data());

  const auto p = parameter({6}), q = parameter({6});
  const auto fixed = std::make_shared<Model>(OutputVector{op1("Subtract", 1, {p, q}), p, p}, ParameterVector{p, q});
  const auto wanted = evaluate(*fixed, inputs);
  engine::Execution execution(engine::Plan::compile(fixed));
  Tensor third(ElementType::kF32, Shape{6});
  execution.bind_input(0, inputs[0]);
  execution.bind_input(1, inputs[1]);
  execution.bind_output(0, inputs[0]);
  execution.bind_output(1, inputs[1]);
  execution.bind_output(2, third);
  EXPECT_TRUE(execution.run(workers));
  expect_close(wanted[0], inputs[0], "over input 0");
  expect_close(wanted[1], inputs[1], "over input 1");
  expect_close(wanted[2], third, "an input straight to a second output");
}

TEST(Places, AnOutputMayLieInAStateThatIsReadMeanwhile) {
  // y = x + s; s' = s + y: y is bound to the memory that holds s.
  const auto x = parameter({1, 4});
  const Attributes variable{
      {"variable_id", "s"}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{1, 4}}};
  const auto state = make_node("ReadValue", 6, {x}, variable);
  const Out y = op1("Add", 1, {x, state->output(0)});
  const auto assign = make_node("Assign", 6, {op1("Add", 1, {state->output(0), y})}, variable);
  const auto model = std::make_shared<Model>(OutputVector{y}, SinkVector{assign}, ParameterVector{x});
  engine::Workers workers(1);
  engine::Execution execution(engine::Plan::compile(model));
  const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, {1, 4}, 1)};
  VariableMap variables;
  for (int round = 0; round < 3; ++round) {
    const auto wanted = evaluate(*model, inputs, &variables);
    const Tensor held = execution.variable(0);
    execution.bind_input(0, inputs[0]);
    execution.bind_output(0, held);
    EXPECT_TRUE(execution.run(workers));
    expect_close(wanted[0], held, "round " + std::to_string(round));
    expect_close(variables.at("s"), execution.variable(0), "state, round " + std::to_string(round));
  }
}

TEST(Places, WhatIsAssignedMayBeReadOn) {
  // z = relu(assign(s + x)), and s is assigned twice: the last one counts.
  const auto x = parameter({1, 4});
  const Attributes variable{
      {"variable_id", "s"}, {"variable_type", ElementType::kF32}, {"variable_shape", PartialShape{1, 4}}};
  const auto state = make_node("ReadValue", 6, {x}, variable);
  const auto first = make_node("Assign", 6, {op1("Add", 1, {state->output(0), x})}, variable);
  const Out z = relu(first->output(0));
  const auto second = make_node("Assign", 6, {op1("Subtract", 1, {z, x})}, variable);
  const auto model =
      std::make_shared<Model>(OutputVector{z, op1("Exp", 1, {z})}, SinkVector{first, second}, ParameterVector{x});
  engine::Workers workers(1);
  engine::Execution execution(engine::Plan::compile(model));
  const std::vector<Tensor> inputs{random_tensor(ElementType::kF32, {1, 4}, 1)};
  VariableMap variables;
  execution.bind_input(0, inputs[0]);
  for (int round = 0; round < 3; ++round) {
    const auto wanted = evaluate(*model, inputs, &variables);
    EXPECT_TRUE(execution.run(workers));
    expect_close(wanted[0], execution.output(0), "round " + std::to_string(round));
    expect_close(wanted[1], execution.output(1), "round " + std::to_string(round));
    expect_close(variables.at("s"), execution.variable(0), "state, round " + std::to_string(round));
  }
}

TEST(Places, AStateOfAnotherShapeIsRefused) {
  const auto x = parameter({1, 4});
  const auto state = make_node("ReadValue", 3, {x}, {{"variable_id", "s"}});
  const Out longer = op1("Concat", 1, {state->output(0), x}, {{"axis", std::int64_t{1}}});
  const auto assign = make_node("Assign", 3, {longer}, {{"variable_id", "s"}});
  const auto model = std::make_shared<Model>(OutputVector{longer}, SinkVector{assign}, ParameterVector{x});
  try {
    engine::Plan::compile(model);
    FAIL() << "the variable would be overrun";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kFailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("'s'"), std::string::npos) << error.what();
  }
}

TEST(Places, SaysWhichOutputMayLieOverWhichInput) {
  const auto may_share = [](const Out& y, const ParameterVector& parameters) {
    return engine::Plan::compile(std::make_shared<Model>(OutputVector{y}, parameters))->may_share(0, 0);
  };
  for (const element::Type type : {element::i32, element::f32}) {
    const auto x = parameter({2, 8}, type), other = parameter({2, 8}, type), row = parameter({1, 8}, type);
    const Out first = op1("Slice", 8, {x, ints({0}), ints({1}), ints({1}), ints({0})});
    const Out second = op1("Slice", 8, {x, ints({1}), ints({2}), ints({1}), ints({0})});
    EXPECT_TRUE(may_share(op1("Add", 1, {x, other}), {x, other})) << type;
    EXPECT_TRUE(may_share(op1("Add", 1, {x, row}), {x, row})) << type;
    // Row 1 is computed from row 0, which is overwritten by then.
    EXPECT_FALSE(may_share(op1("Add", 1, {x, first}), {x})) << type;
    EXPECT_FALSE(may_share(op1("Add", 1, {second, row}), {x, row})) << type;
  }
}

TEST(Places, WhatFillsBlocksStaysZero) {
  // The padding channels of a block are 0 in both operands; 0 / 0 there must not reach the next kernel.
  for (const ElementType precision : {ElementType::kF32, ElementType::kBf16}) {
    if (precision == ElementType::kBf16 && !engine::has_native_bf16()) continue;
    for (const std::size_t channels : {1, 3, 17, 20})
      for (const bool depthwise : {false, true}) {
        SCOPED_TRACE(std::string(name(precision)) + " " + std::to_string(channels) + (depthwise ? " depthwise" : ""));
        const auto x = parameter({1, channels, 8, 5});
        const Out made =
            depthwise ? op1("GroupConvolution", 1, {x, weights({channels, 1, 1, 3, 3})},
                            {{"strides", {1, 1}}, {"pads_begin", {1, 1}}, {"pads_end", {1, 1}}, {"dilations", {1, 1}}})
                      : convolution(x, channels, 3, 1, 1);
        const Out divisor = op1("Add", 1, {op1("Abs", 1, {convolution(x, channels, 1)}), scalar(1)});
        const Out again = op1("Add", 1, {op1("Abs", 1, {x}), scalar(1)});
        for (const Out& by : {divisor, again}) {
          // A second reader prevents fusing the division into the convolution.
          for (const bool fused : {false, true}) {
            SCOPED_TRACE(fused ? "fused" : "alone");
            const Out activated = fused ? relu(made) : made;
            const Out quotient = op1("Divide", 1, {op1("Divide", 1, {activated, by}), weights({1, channels, 1, 1})});
            OutputVector outputs{convolution(quotient, 8, 1)};
            if (!fused) outputs.push_back(convolution(relu(made), 8, 1));
            const auto model = std::make_shared<Model>(outputs, ParameterVector{x});
            engine::Options options;
            options.threads = 1;
            options.precision = precision;
            engine::Workers workers(1);
            engine::Execution execution(engine::Plan::compile(model, options));
            const auto inputs = random_inputs(*model);
            execution.bind_input(0, inputs[0]);
            const auto wanted = evaluate(*model, inputs);
            EXPECT_TRUE(execution.run(workers));
            expect_close(wanted[0], execution.output(0), "quotient", precision == ElementType::kBf16 ? 0.03 : 2e-4);
          }
        }
      }
  }
}

// -- 8 bits

Out fake(const Out& x, double low, double high) {
  const double step = (high - low) / 255, zero = std::nearbyint(-low / step);
  low = -zero * step;
  return op1("FakeQuantize", 1, {x, scalar(low), scalar(low + 255 * step), scalar(low), scalar(low + 255 * step)},
             {{"levels", std::int64_t{256}}});
}
Out dequantized(const Shape& shape, unsigned seed) {
  Tensor numbers(ElementType::kI8, shape);
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < numbers.element_count(); ++i)
    numbers.data<std::int8_t>()[i] = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  const Out real = std::make_shared<op::v0::Convert>(std::make_shared<Constant>(numbers), element::f32);
  return op1("Multiply", 1, {real, scalar(0.01)});
}

TEST(Places, PartsIn8BitsThatOverlapAreCombinedRightly) {
  const auto x = parameter({1, 8, 32});
  const Out q = fake(relu(x), 0, 2.55);
  const auto head = make_node("VariadicSplit", 1, {q, scalar_int(1), ints({7, 1})});
  const auto tail = make_node("VariadicSplit", 1, {q, scalar_int(1), ints({1, 7})});
  for (const bool later_first : {true, false}) {
    const Out a = tail->output(1), b = head->output(0);
    const Out y = fake(op1("Subtract", 1, {later_first ? a : b, later_first ? b : a}), -2.55, 2.55);
    // Halves may be rounded either way.
    judge(y, {x}, 0.011);
  }
}

TEST(Places, AConvertThatChangesNothingKeepsWhatNumbersMean) {
  // The rounded value is an output itself, so that no pass removes the Convert.
  const auto x = parameter({1, 8, 4, 4});
  const Out q = fake(x, -2, 3);
  const Out same = op1("Convert", 1, {q}, {{"destination_type", ElementType::kF32}});
  judge(std::make_shared<Model>(OutputVector{same, q, relu(same)}, ParameterVector{x}), 0.011);
}

TEST(Places, WhatIsKnownInAChainIsNotComputedAgain) {
  const auto x = parameter({1, 8, 6, 6});
  const Out known = op1("Convolution", 1, {dequantized({1, 4, 6, 6}, 1), dequantized({8, 4, 1, 1}, 2)},
                        {{"strides", {1, 1}}, {"pads_begin", {0, 0}}, {"pads_end", {0, 0}}, {"dilations", {1, 1}}});
  judge(op1("Add", 1, {known, x}), {x});
  judge(relu(op1("Add", 1, {relu(known), x})), {x});
  const auto rows = parameter({3, 8});
  const Out product = op1("MatMul", 1, {dequantized({3, 5}, 3), dequantized({5, 8}, 4)},
                          {{"transpose_a", false}, {"transpose_b", false}});
  judge(op1("Add", 1, {product, rows}), {rows});
  judge(op1("MatMul", 1, {dequantized({5, 3}, 3), rows}, {{"transpose_a", false}, {"transpose_b", false}}), {rows});
}

}  // namespace buffer_slices_test
}  // namespace tenon::engine_test
