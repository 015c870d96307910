/* SPDX-License-Identifier: Apache-2.0
   Programs for OpenVINO's C API, which are compiled for the original and for Tenon. What they print is the same. */
#pragma once

#include <openvino/c/openvino.h>
#include <openvino/c/ov_prepostprocess.h>
#include <stddef.h>
#include <stdint.h>

/** Prints a line. */
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));
/** Prints what a call came to, and returns whether it was OK. */
bool came_to(const char* what, ov_status_e status);
/** Ends the program, saying where, if the call failed. */
#define MUST(call) must(call, #call, __FILE__, __LINE__)
void must(ov_status_e status, const char* call, const char* file, int line);
/** Prints what a call that fails came to, and whether the last error has this part. */
void refused(const char* what, ov_status_e status, const char* part);
/** Prints whether a call failed: whether it is an error or not implemented is the device's choice. */
void fails(const char* what, ov_status_e status);
void say_shape(const char* what, const ov_shape_t* shape);
void say_partial_shape(const char* what, ov_partial_shape_t shape);
void say_floats(const char* what, const ov_tensor_t* tensor, size_t most);
void say_port(const char* what, const ov_output_const_port_t* port);

/** x of this shape (extents, with commas; -1 moves) + 1 2 3 by channel, then ReLU: y. */
ov_model_t* small_model(const ov_core_t* core, const char* shape);
/** The same as text, with the weights as a file's bytes: 12. */
void small_model_text(const char* shape, char* xml, size_t size);
extern const float small_weights[3];
ov_shape_t shape_of(int64_t rank, const int64_t* dims);
/** A path in a folder of this run. */
const char* path_of(const char* name);

void values(void);
void models(void);
void classification(void);
void asynchronous(void);
void preprocessing(void);
void dynamic_shapes(void);
void caching(void);
void properties(void);
void errors(void);
