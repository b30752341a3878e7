#pragma once

#include <string>

#include "veche/model/operators.h"

namespace veche {

// The bytes of an ONNX file with this graph, which ONNX's own checker has approved, shapes included. Loads
// the module that has ONNX; throws RequestError where that is missing, or when the file would be larger than
// ONNX files can be. `version`: of the program that wrote it.
std::string onnx_file(const OperatorGraph& graph, const std::string& version);

// The one symbol of the module, as extern "C".
using WriteOnnx = void(const OperatorGraph& graph, const std::string& version, std::string& bytes);
inline constexpr char kWriteOnnxSymbol[] = "veche_write_onnx";

}  // namespace veche
