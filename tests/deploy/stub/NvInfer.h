// The parts of TensorRT that the example uses. The text of an engine is the time in ns that it
// takes.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <string>

typedef CUstream cudaStream_t;
extern "C" void *standin_graph(int64_t);

namespace nvinfer1
{

enum class TensorIOMode : int32_t { kNONE = 0, kINPUT = 1, kOUTPUT = 2 };
enum class DataType : int32_t { kFLOAT = 0, kHALF = 1 };

struct Dims {
    int32_t nbDims;
    int64_t d[8];
};

class ILogger
{
  public:
    enum class Severity : int32_t { kERROR = 1, kWARNING = 2, kINFO = 3 };
    virtual void log(Severity severity, const char *text) noexcept = 0;
    virtual ~ILogger() = default;
};

class IExecutionContext
{
  public:
    explicit IExecutionContext(int64_t ns) : graph_(standin_graph(ns))
    {
    }
    bool setTensorAddress(const char *, void *address)
    {
        set_ += address != nullptr;
        return address != nullptr;
    }
    bool enqueueV3(cudaStream_t stream)
    {
        return set_ == 2 && cuGraphLaunch(static_cast<CUgraphExec>(graph_), stream) == CUDA_SUCCESS;
    }

  private:
    void *graph_;
    int set_ = 0;
};

class ICudaEngine
{
  public:
    explicit ICudaEngine(int64_t ns) : ns_(ns)
    {
    }
    int32_t getNbIOTensors() const
    {
        return 2;
    }
    const char *getIOTensorName(int32_t index) const
    {
        return index == 0 ? "in" : "out";
    }
    Dims getTensorShape(const char *) const
    {
        return {2, {4, 8}};
    }
    DataType getTensorDataType(const char *) const
    {
        return DataType::kFLOAT;
    }
    TensorIOMode getTensorIOMode(const char *name) const
    {
        return std::string(name) == "in" ? TensorIOMode::kINPUT : TensorIOMode::kOUTPUT;
    }
    IExecutionContext *createExecutionContext()
    {
        return new IExecutionContext(ns_);
    }

  private:
    int64_t ns_;
};

class IRuntime
{
  public:
    ICudaEngine *deserializeCudaEngine(const void *data, size_t size)
    {
        const int64_t ns = std::atoll(std::string(static_cast<const char *>(data), size).c_str());
        return ns > 0 ? new ICudaEngine(ns) : nullptr;
    }
};

inline IRuntime *createInferRuntime(ILogger &)
{
    return new IRuntime();
}

} // namespace nvinfer1
