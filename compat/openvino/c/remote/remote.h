/* SPDX-License-Identifier: Apache-2.0
   Programs for remote tensors in C, which are compiled for OpenVINO and for Tenon. What they print is the same. */
#pragma once

#include <openvino/c/openvino.h>

#include "../programs/lines.h"

/** Ends the program, saying where, if the condition does not hold. */
#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)
void check(bool condition, const char* what, const char* file, int line);

/** y = ReLU(x) of this shape (extents, with commas). */
ov_model_t* relu_model(const ov_core_t* core, const char* shape);
/** The same with x as a picture in two planes of NV12, "x/y" and "x/uv", that lie in the GPU's images or surfaces: [1,3,height,width]. */
ov_model_t* picture_model(const ov_core_t* core, const char* shape);
/** The keys that a remote object has, in order, and what the text says of SHARED_MEM_TYPE, CONTEXT_TYPE or MEM_TYPE. */
void say_params(const char* what, char* params);
/** The address that a parameter has. */
void* address_in(const char* params, const char* key);

void gpu(void);
void npu(void);
/** With VASurfaceIDs and planes as texts, which is what the header says. */
void va(void);
/** With VASurfaceIDs and planes as numbers, which is what the documentation shows: Tenon only, the original reads them as addresses of texts. */
void va_numbers(void);
