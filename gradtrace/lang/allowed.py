"""Allow-lists of the attributes that a program may read, by exact type; any other attribute is refused.

The lists of Python's types exclude attributes that lead to code or frames, methods that take a format string (`format`
has a gated version), and bytes.
"""

from __future__ import annotations

import sys
from types import BuiltinFunctionType, FunctionType, MethodType

from gradtrace.lang.known_classes import ByClass
from gradtrace.lang.words import words

DICT = words("clear copy get items keys pop popitem setdefault update values")
SET = words("""copy difference intersection isdisjoint issubset issuperset symmetric_difference union""")
MUTABLE_SET = words("""add clear difference_update discard intersection_update pop remove symmetric_difference_update
    update""")
NAMED = words("__name__ __qualname__ __doc__ __module__")  # attributes that describe a function or class

BY_TYPE: dict[type, frozenset[str]] = {
    type(None): frozenset(),
    type(...): frozenset(),
    type(NotImplemented): frozenset(),
    bool: words("real imag numerator denominator conjugate bit_length bit_count"),
    int: words("real imag numerator denominator conjugate bit_length bit_count as_integer_ratio"),
    float: words("real imag conjugate is_integer hex as_integer_ratio"),
    str: words("""capitalize casefold center count endswith expandtabs find format index isalnum isalpha isascii
        isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip
        partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split splitlines
        startswith strip swapcase title upper zfill"""),
    list: words("append clear copy count extend index insert pop remove reverse sort"),
    tuple: words("count index"),
    dict: DICT,
    set: SET | MUTABLE_SET,
    frozenset: SET,
    slice: words("start stop step indices"),
    range: words("start stop step count index"),
    property: words("getter setter deleter fget fset fdel __doc__"),
    FunctionType: NAMED,
    BuiltinFunctionType: words("__name__ __qualname__ __doc__"),
    MethodType: NAMED,
    type(str.upper): words("__name__ __qualname__ __doc__"),
    type(object.__init__): words("__name__ __qualname__ __doc__"),
    type(sys.version_info): words("major minor micro releaselevel serial"),
    type(sys.float_info): words("dig epsilon mant_dig max max_10_exp max_exp min min_10_exp min_exp radix rounds"),
}

SINGLETONS = (type(None), type(...), type(NotImplemented))
ONLY_CALLED = (int, bool, property, staticmethod, classmethod, slice, range, enumerate, zip, map, filter, reversed)
# Attributes of Python's classes: `str.upper` as a key, `dict.fromkeys`. Empty for classes that can only be called.
PYTHON_CLASSES: dict[type, frozenset[str]] = {
    **dict.fromkeys((*ONLY_CALLED, *SINGLETONS), frozenset()),
    str: BY_TYPE[str] - words("format join center ljust rjust zfill replace expandtabs"),
    dict: words("fromkeys get items keys values"),
    float: words("fromhex is_integer"),
    list: words("append count index pop"),
    tuple: words("count index"),
    set: words("add union intersection difference issubset"),
    frozenset: words("union intersection difference"),
    object: words("__init__ __repr__ __str__ __eq__ __hash__ __new__ __setattr__"),
}
# The same, for classes whose modules may not be imported yet.
OF_CLASS = ByClass(
    {
        "collections:OrderedDict": words("fromkeys"),
        "collections:defaultdict": frozenset(),
        "collections:ChainMap": frozenset(),
        "collections:Counter": frozenset(),
        "collections:deque": frozenset(),
        "datetime:date": words("today fromisoformat fromtimestamp min max"),
        "datetime:datetime": words("combine fromisoformat fromtimestamp min max now strptime today utcnow"),
        "datetime:time": words("fromisoformat min max"),
        "datetime:timedelta": words("min max"),
        "datetime:timezone": words("utc"),
        **dict.fromkeys(words("contextlib:closing contextlib:nullcontext contextlib:suppress"), frozenset()),
        **dict.fromkeys(words("re:Match re:Pattern time:struct_time"), frozenset()),
    },
    PYTHON_CLASSES,
)

# The special methods that a program's class may define, and that may be read.
MAGIC = words("""__init__ __init_subclass__ __new__ __del__ __post_init__ __call__ __len__ __getitem__ __setitem__
    __delitem__ __contains__ __iter__ __next__ __reversed__ __repr__ __str__ __format__ __bool__ __int__ __float__
    __index__ __hash__ __enter__ __exit__ __getattr__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __neg__ __pos__ __abs__
    __invert__ __round__ __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__
    __truediv__ __rtruediv__ __itruediv__ __floordiv__ __rfloordiv__ __ifloordiv__ __mod__ __rmod__ __imod__
    __pow__ __rpow__ __ipow__ __matmul__ __rmatmul__ __imatmul__ __divmod__ __and__ __rand__ __iand__ __or__
    __ror__ __ior__ __xor__ __rxor__ __ixor__ __lshift__ __rlshift__ __rshift__ __rrshift__""")
# Other names that a class body may bind.
CLASS_NAMES = words("__doc__ __slots__ __annotations__ __match_args__")

TENSOR = words("""T mT H mH real imag _backward_hooks _base _is_view _version backward data device dim dtype
    element_size get_device grad grad_fn
    is_complex is_conj is_contiguous is_cpu is_cuda is_meta is_mps is_neg is_nested is_quantized is_sparse is_xpu
    is_floating_point is_inference is_leaf is_signed item itemsize layout materialize name nbytes
    ndim ndimension nelement numel numpy output_nr register_hook register_post_accumulate_grad_hook requires_grad
    requires_grad_ retain_grad retains_grad shape size stride tolist
    __len__ __getitem__ __repr__ __str__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __neg__ __pow__
    __matmul__ __eq__ __setitem__ __iadd__ __isub__ __imul__ __itruediv__ __ipow__ __contains__ __bool__ __float__
    __int__ __iter__ __hash__ __abs__ __ne__ __lt__ __gt__ __le__ __ge__ __rpow__ __rtruediv__ __rmatmul__""")
OPTIMIZER = words("apply_gradients compute_gradients learning_rate minimize name")
TENSOR_SETTABLE = words("data grad requires_grad")
NODE = words("""_register_hook_dict _sequence_nr mark_dirty mark_non_differentiable metadata name needs_input_grad
    next_functions register_hook register_prehook save_for_backward save_for_forward saved_tensors
    set_materialize_grads variable""")

DATE = words("""ctime day isocalendar isoformat isoweekday month replace strftime timetuple toordinal weekday year""")
TIME = words("""dst fold hour isoformat microsecond minute replace second strftime tzinfo tzname utcoffset""")
# Those of gradtrace.lang.numpy_numbers, which is not imported where no array is used.
NUMPY_NUMBER = words("""all any argmax argmin astype clip conj conjugate copy cumsum flatten item max mean min prod
    ravel repeat reshape round squeeze std sum tolist transpose var T dtype imag itemsize nbytes ndim real shape
    size""")
# Attributes of other types, by the place of their class.
PLACES: dict[str, frozenset[str]] = {
    "gradtrace.lang.numpy_numbers:Float64": NUMPY_NUMBER | words("as_integer_ratio is_integer"),
    "gradtrace.lang.numpy_numbers:Int64": NUMPY_NUMBER | words("bit_count"),
    "gradtrace.lang.generator_values:Generator": words("send throw close __next__ __iter__ __name__ __qualname__"),
    "collections:ChainMap": words("get items keys maps new_child parents pop popitem update values"),
    "collections:OrderedDict": DICT | words("move_to_end _metadata"),
    "collections:defaultdict": DICT | words("default_factory"),
    "collections:Counter": DICT | words("elements most_common subtract total"),
    "collections:deque": words("""append appendleft clear copy count extend extendleft index insert maxlen pop popleft
        remove reverse rotate"""),
    **dict.fromkeys(words("contextlib:closing contextlib:suppress"), frozenset()),
    "contextlib:nullcontext": words("enter_result"),
    "dataclasses:Field": words("compare default default_factory hash init kw_only metadata name repr type"),
    "datetime:date": DATE,
    "datetime:datetime": DATE | TIME | words("astimezone date time timestamp timetz utctimetuple"),
    "datetime:time": TIME,
    "datetime:timedelta": words("days microseconds seconds total_seconds"),
    "datetime:timezone": words("tzname utcoffset"),
    "re:Match": words("end endpos expand group groupdict groups lastgroup lastindex pos re span start string"),
    "re:Pattern": words("findall finditer flags fullmatch groupindex groups match pattern search split sub subn"),
    "time:struct_time": words("""count index tm_gmtoff tm_hour tm_isdst tm_mday tm_min tm_mon tm_sec tm_wday tm_yday
        tm_year tm_zone"""),
    "enum:auto": frozenset(),
    "functools:partial": words("func args keywords"),
    "functools:_lru_cache_wrapper": words("cache_clear cache_info __wrapped__") | NAMED,
    "functools:_CacheInfo": words("currsize hits maxsize misses count index"),
    "warnings:WarningMessage": words("category lineno message"),
    "gradtrace.lang.library:LibraryFunction": NAMED,
    "gradtrace.engine.data.dtypes:dtype": words("is_floating_point is_complex is_signed itemsize"),
    "gradtrace.engine.data.describe:device": words("type index"),
    "gradtrace.engine.data.describe:Size": words("numel count index"),
    "gradtrace.engine.data.node:Edge": words("count index"),
    "gradtrace.engine.data.node:RemovableHandle": words("id remove"),
    "gradtrace.engine.data.node:GradientEdge": words("node output_nr ownership_token count index _fields"),
    "gradtrace.engine.calls.function_saved:FunctionSavedTensor": words("register_hooks"),
    "gradtrace.engine.reverse.saved_hooks:NodeSavedTensor": words("register_hooks"),
    "gradtrace.engine.reverse.saved_hooks:OwnSavedTensor": words("register_hooks"),
    "gradtrace.autograd.graph:MultiHandle": words("remove"),
    "gradtrace.autograd.graph:saved_tensors_hooks": words("pack_hook unpack_hook"),
    "gradtrace.engine.data.modes:_Wrapped": NAMED | {"__wrapped__"},
    "gradtrace.engine.data.modes:no_grad": words("clone"),
    "gradtrace.engine.data.modes:enable_grad": words("clone"),
    "gradtrace.engine.data.modes:set_grad_enabled": words("clone mode"),
    "gradtrace.engine.data.modes:inference_mode": words("clone mode"),
    "numpy.linalg._linalg:SVDResult": words("U S Vh count index _fields"),
    **{
        f"numpy.linalg._linalg:{kind}Result": words("eigenvalues eigenvectors count index _fields")
        for kind in ("Eig", "Eigh")
    },
    "numpy.linalg._linalg:QRResult": words("Q R count index _fields"),
    "numpy.linalg._linalg:SlogdetResult": words("sign logabsdet count index _fields"),
    "gradtrace.func.forward_ad:UnpackedDualTensor": words("primal tangent count index _fields"),
    "gradtrace.func.interpret:VmapInfo": words("batch_size randomness count index _fields"),
    "gradtrace.ops.create.dtype_limits:finfo": words("bits dtype eps max min resolution smallest_normal tiny"),
    "gradtrace.ops.create.dtype_limits:iinfo": words("bits dtype max min"),
    "gradtrace.ops.linalg.sparse:SparseTensor": words("""T _indices _nnz _values clone coalesce cpu detach device dim
        double dtype float indices is_coalesced is_sparse layout matmul mm mv ndim requires_grad shape size sum t to
        to_dense transpose values"""),
    "gradtrace.ops.shape.memory:Storage": words("data_ptr nbytes size tolist __len__ __getitem__ __setitem__"),
    "gradtrace.ops.random.generator:Generator": words(
        "clone_state device get_state initial_seed manual_seed seed set_state"
    ),
    "gradtrace.utils.benchmark:Timer": words("blocked_autorange timeit"),
    "gradtrace.utils.benchmark:Measurement": words("iqr label mean median number_per_run raw_times times"),
    "gradtrace.static.graph:Tensor": words("dtype eval get_shape graph name op shape"),
    "gradtrace.static.variables:Variable": words("""assign assign_add assign_sub dtype eval get_shape graph
        initial_value initialized_value initializer load name op read_value shape trainable value"""),
    "gradtrace.static.graph:Operation": words("graph inputs name outputs run type"),
    "gradtrace.static.graph:Graph": words("as_default finalize finalized get_operations get_tensor_by_name"),
    "gradtrace.static.elements:DType": words("is_floating name"),
    **{f"gradtrace.static.train:{kind}Optimizer": OPTIMIZER for kind in ("GradientDescent", "Momentum", "Adam")},
    # Bases of the program's enumerations; what a program adds is decided as for its other classes.
    "enum:Enum": words("name value"),
    "enum:Flag": words("name value"),
}
OF_INSTANCES = ByClass(PLACES, BY_TYPE)
# Attributes of instances of classes that the library derives from these in a run.
OF_DERIVED = ByClass({"gradtrace.static.session:Session": words("built close graph run runs")})
# All public names of instances of classes in these modules (layers, optimisers, schedulers, transforms) are allowed.
OPEN_MODULES = tuple(f"gradtrace.{name}." for name in ("amp", "distributions", "nn", "optim", "utils.data"))
# Private names of these instances that scripts read.
OPEN_PRIVATE = words("""_backward_hooks _backward_pre_hooks _buffers _check_input_dim _conv_forward
    _flat_weights_names _forward_hooks _forward_pre_hooks _get_lr_called_within_step _get_name _last_lr _modules
    _parameters _reset_parameters _step_count _tensor_name""")
# Classes outside these modules that programs may call.
CONSTRUCTED = ByClass(
    dict.fromkeys(
        words("""gradtrace.engine.data.dtypes:dtype gradtrace.engine.data.describe:device
            gradtrace.engine.data.describe:Size gradtrace.engine.data.modes:no_grad
            gradtrace.engine.data.modes:enable_grad gradtrace.engine.data.modes:inference_mode
            gradtrace.engine.data.modes:set_grad_enabled gradtrace.engine.data.modes:set_detect_anomaly
            gradtrace.engine.data.modes:detect_anomaly gradtrace.engine.calls.function:Function
            gradtrace.autograd:Variable
            gradtrace.ops.random.generator:Generator gradtrace.random:fork_rng
            gradtrace.ops.create.dtype_limits:finfo gradtrace.ops.create.dtype_limits:iinfo"""),
        True,
    )
)
