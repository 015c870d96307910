/* SPDX-License-Identifier: Apache-2.0 */
/* A model as text: y = relu(x) over [1, 1024] floats. */
#ifndef TENON_EXAMPLES_SUPPORT_RELU_H
#define TENON_EXAMPLES_SUPPORT_RELU_H

enum { kElements = 1024 };

#define DIMS "<dim>1</dim><dim>1024</dim>"
static const char kRelu[] =
    "<?xml version=\"1.0\"?><net name=\"relu\" version=\"11\"><layers>"
    "<layer id=\"0\" name=\"x\" type=\"Parameter\" version=\"opset1\"><data shape=\"1,1024\" element_type=\"f32\"/>"
    "<output><port id=\"0\" precision=\"FP32\" names=\"x\">" DIMS
    "</port></output></layer>"
    "<layer id=\"1\" name=\"relu\" type=\"ReLU\" version=\"opset1\">"
    "<input><port id=\"0\" precision=\"FP32\">" DIMS
    "</port></input>"
    "<output><port id=\"1\" precision=\"FP32\" names=\"y\">" DIMS
    "</port></output></layer>"
    "<layer id=\"2\" name=\"result\" type=\"Result\" version=\"opset1\">"
    "<input><port id=\"0\" precision=\"FP32\">" DIMS
    "</port></input></layer></layers>"
    "<edges><edge from-layer=\"0\" from-port=\"0\" to-layer=\"1\" to-port=\"0\"/>"
    "<edge from-layer=\"1\" from-port=\"1\" to-layer=\"2\" to-port=\"0\"/></edges></net>";
#undef DIMS

#endif
