"""The public names of pydrake 1.51, by module, and the modules of merganser that replace each module of pydrake.

Programs may use all of these names, whether or not merganser has them.
"""

from __future__ import annotations

_TEXT = {
    "": "getDrakePath",
    "autodiffutils": """
    AutoDiffXd ExtractGradient ExtractValue InitializeAutoDiff InitializeAutoDiffTuple autodiff_equal_to
    """,
    "common": """
    CalcProbabilityDensity FindResourceOrThrow GetDrakePath MemoryFile Parallelism RandomDistribution
    RandomGenerator Sha256 ToleranceType configure_logging kDrakeAssertIsArmed pretty_class_name temp_directory
    trigger_an_assertion_failure use_native_cpp_logging
    """,
    "common.compatibility": "maybe_patch_numpy_formatters",
    "common.containers": "EqualToDict NamedViewBase namedview",
    "common.cpp_param": "Dict List Optional Union get_param_canonical get_param_names pretty_class_name",
    "common.cpp_template": "TemplateBase TemplateClass TemplateFunction TemplateMethod get_or_init pretty_class_name",
    "common.deprecation": """
    DrakeDeprecationWarning ModuleShim deprecated deprecated_callable install_numpy_warning_filters
    """,
    "common.eigen_geometry": "AngleAxis AngleAxis_ Isometry3 Isometry3_ Quaternion Quaternion_",
    "common.jupyter": "process_ipywidget_events",
    "common.schema": """
    Deterministic DeterministicVector DeterministicVectorX Distribution DistributionVector Gaussian GaussianVector
    GaussianVectorX GetDeterministicValue IsDeterministic Mean Rotation Sample ToDistribution ToDistributionVector
    ToSymbolic Transform Uniform UniformDiscrete UniformVector UniformVectorX
    """,
    "common.value": "AbstractValue List Value",
    "common.yaml": "yaml_dump yaml_dump_typed yaml_load yaml_load_data yaml_load_file yaml_load_typed",
    "examples": """
    AcrobotGeometry AcrobotInput AcrobotParams AcrobotPlant AcrobotSpongController AcrobotState AcrobotWEncoder
    CompassGait CompassGaitContinuousState CompassGaitGeometry CompassGaitParams PendulumGeometry PendulumInput
    PendulumParams PendulumPlant PendulumState QuadrotorGeometry QuadrotorPlant RimlessWheel
    RimlessWheelContinuousState RimlessWheelGeometry RimlessWheelParams SpongControllerParams
    StabilizingLQRController VanDerPolOscillator
    """,
    "forwarddiff": "cos derivative gradient jacobian sin",
    "geometry": """
    Aabb AddCompliantHydroelasticProperties AddCompliantHydroelasticPropertiesForHalfSpace AddContactMaterial
    AddRigidHydroelasticProperties Box CalcObb CalcVolume Capsule ClippingRange CollisionFilterDeclaration
    CollisionFilterManager CollisionFilterScope ColorRenderCamera ComputeAabbForTriangleMesh
    ComputeAabbForVolumeMesh ComputeObbForTriangleMesh ComputeObbForVolumeMesh ContactSurface ContactSurface_
    ConvertVolumeToSurfaceMesh Convex Cylinder DefaultProximityProperties DepthRange DepthRenderCamera
    DrakeVisualizer DrakeVisualizerParams DrakeVisualizer_ Ellipsoid EnvironmentMap EquirectangularMap FilterId
    FrameId FramePoseVector FramePoseVector_ GeometryConfigurationVector GeometryConfigurationVector_
    GeometryFrame GeometryId GeometryInstance GeometryProperties GeometrySet GeometryVersion GltfExtension
    HalfSpace HydroelasticContactRepresentation IllustrationProperties InMemoryMesh LightParameter
    MakePhongIllustrationProperties MakeRenderEngineGl MakeRenderEngineGltfClient MakeRenderEngineVtk Mesh
    MeshSource Meshcat MeshcatAnimation MeshcatCone MeshcatParams MeshcatPointCloudVisualizer
    MeshcatPointCloudVisualizer_ MeshcatVisualizer MeshcatVisualizerParams MeshcatVisualizer_ NullTexture Obb
    PenetrationAsPointPair PenetrationAsPointPair_ PerceptionProperties Plane Plane_ PolygonSurfaceMesh
    PolygonSurfaceMeshFieldLinear PolygonSurfaceMeshFieldLinear_ PolygonSurfaceMesh_ ProximityProperties
    QueryObject QueryObject_ ReadObjToTriangleSurfaceMesh RefineVolumeMesh RefineVolumeMeshIntoVtkFileContents
    RenderCameraCore RenderEngine RenderEngineGlParams RenderEngineGltfClientParams RenderEngineVtkParams
    RenderLabel Rgba Role RoleAssign SceneGraph SceneGraphConfig SceneGraphInspector SceneGraphInspector_
    SceneGraph_ Shape SignedDistancePair SignedDistancePair_ SignedDistanceToPoint SignedDistanceToPoint_ SourceId
    Sphere SsaoParameter StartMeshcat SurfacePolygon SurfaceTriangle TriangleSurfaceMesh
    TriangleSurfaceMeshFieldLinear TriangleSurfaceMeshFieldLinear_ TriangleSurfaceMesh_ VolumeElement VolumeMesh
    VolumeMesh_ kHasRenderEngineGl kHasRenderEngineGltfClient kHasRenderEngineVtk
    """,
    "geometry.optimization": """
    AffineBall AffineSubspace CIrisCollisionGeometry CIrisGeometryType CSpaceSeparatingPlane
    CSpaceSeparatingPlane_ CartesianProduct CheckIfSatisfiesConvexityRadius ComputePairwiseIntersections
    ConvexHull ConvexSet CspaceFreePolytope CspaceFreePolytopeBase FindSeparationCertificateOptions
    GcsGraphvizOptions GraphOfConvexSets GraphOfConvexSetsOptions HPolyhedron Hyperellipsoid Hyperrectangle
    ImplicitGraphOfConvexSets ImplicitGraphOfConvexSetsFromExplicit Intersection Iris IrisNp IrisOptions
    LoadIrisRegionsYamlFile MakeIrisObstacles MinkowskiSum PartitionConvexSet PlaneSide Point SampledVolume
    SaveIrisRegionsYamlFile SeparatingPlaneOrder SeparationCertificateProgramBase SeparationCertificateResultBase
    Spectrahedron VPolytope
    """,
    "gym": "DrakeGymEnv",
    "lcm": "DrakeLcm DrakeLcmInterface DrakeLcmParams Subscriber",
    "manipulation": """
    ApplyDriverConfig ApplyDriverConfigs ApplyNamedPositionsAsDefaults BuildIiwaControl BuildSchunkWsgControl
    GetSchunkWsgOpenPosition IiwaCommandReceiver IiwaCommandSender IiwaControlMode IiwaDriver IiwaStatusReceiver
    IiwaStatusSender MakeMultibodyForceToWsgForceSystem MakeMultibodyStateToWsgStateSystem PandaCommandReceiver
    PandaCommandSender PandaControlMode PandaStatusReceiver PandaStatusSender ParseIiwaControlMode
    SchunkWsgCommandReceiver SchunkWsgCommandSender SchunkWsgController SchunkWsgDriver
    SchunkWsgPositionController SchunkWsgStatusReceiver SchunkWsgStatusSender SchunkWsgTrajectoryGenerator
    SimIiwaDriver ZeroForceDriver get_iiwa_max_joint_velocities kIiwaArmNumJoints kIiwaLcmStatusPeriod
    kPandaArmNumJoints position_enabled torque_enabled
    """,
    "math": """
    AreQuaternionsEqualForOrientation BalanceQuadraticForms BarycentricMesh BsplineBasis BsplineBasis_
    CalculateAngularVelocityExpressedInBFromQuaternionDt CalculateQuaternionDtConstraintViolation
    CalculateQuaternionDtFromAngularVelocityExpressedInB ClosestQuaternion ComputeNumericalGradient
    ContinuousAlgebraicRiccatiEquation DecomposePSDmatrixIntoXtransposeTimesX DecomposePositiveQuadraticForm
    DiscreteAlgebraicRiccatiEquation ExtractPrincipalSubmatrix IsBothQuaternionAndQuaternionDtOK
    IsPositiveDefinite IsQuaternionValid IsSymmetric KnotVectorType NumericalGradientMethod
    NumericalGradientOption QuaternionToCanonicalForm RealContinuousLyapunovEquation RealDiscreteLyapunovEquation
    RigidTransform RigidTransform_ RollPitchYaw RollPitchYaw_ RotationMatrix RotationMatrix_ SoftOverMax
    SoftOverMin SoftUnderMax SoftUnderMin ToLowerTriangularColumnsFromMatrix
    ToSymmetricMatrixFromLowerTriangularColumns UniformlyRandomAngleAxis UniformlyRandomQuaternion
    UniformlyRandomRPY UniformlyRandomRotationMatrix VectorToSkewSymmetric abs acos arccos arcsin arctan arctan2
    asin atan atan2 ceil cos cosh eq exp floor ge gt inv is_quaternion_in_canonical_form isnan le log lt matmul
    max min ne pow sin sinh sqrt tan tanh wrap_to
    """,
    "multibody.benchmarks": "MassDamperSpringAnalyticalSolution",
    "multibody.benchmarks.acrobot": "AcrobotParameters MakeAcrobotPlant",
    "multibody.cenic": "CenicIntegrator CenicIntegrator_",
    "multibody.contact_solvers": "IcfSolverParameters",
    "multibody.fem": """
    DeformableBodyConfig DeformableBodyConfig_ ForceDensityFieldBase ForceDensityFieldBase_ ForceDensityType
    MaterialModel
    """,
    "multibody.fix_inertia": "",
    "multibody.inverse_kinematics": """
    AddMultibodyPlantConstraints AddUnitQuaternionConstraintOnPlant AngleBetweenVectorsConstraint
    AngleBetweenVectorsCost ComInPolyhedronConstraint ComPositionConstraint
    DifferentialInverseKinematicsController DifferentialInverseKinematicsIntegrator
    DifferentialInverseKinematicsParameters DifferentialInverseKinematicsResult
    DifferentialInverseKinematicsStatus DifferentialInverseKinematicsSystem DistanceConstraint
    DoDifferentialInverseKinematics GazeTargetConstraint GlobalInverseKinematics InverseKinematics
    MinimumDistanceLowerBoundConstraint MinimumDistanceUpperBoundConstraint OrientationConstraint OrientationCost
    PointToLineDistanceConstraint PointToPointDistanceConstraint PolyhedronConstraint PositionConstraint
    PositionCost UnitQuaternionConstraint
    """,
    "multibody.jupyter_widgets": "JointSliders MakeJointSlidersThatPublishOnCallback",
    "multibody.math": """
    SpatialAcceleration SpatialAcceleration_ SpatialForce SpatialForce_ SpatialMomentum SpatialMomentum_
    SpatialVelocity SpatialVelocity_
    """,
    "multibody.mesh_to_model": "",
    "multibody.meshcat": "ContactVisualizer ContactVisualizerParams ContactVisualizer_ JointSliders JointSliders_",
    "multibody.optimization": """
    CalcGridPointsOptions CentroidalMomentumConstraint ContactWrench ContactWrenchFromForceInWorldFrameEvaluator
    QuaternionEulerIntegrationConstraint SpatialVelocityConstraint StaticEquilibriumProblem Toppra
    ToppraDiscretization
    """,
    "multibody.parsing": """
    AddCollisionFilterGroup AddDirectives AddFrame AddModel AddModelInstance AddWeld CollisionFilterGroups
    FlattenModelDirectives GetScopedFrameByName GetScopedFrameByNameMaybe LoadModelDirectives
    LoadModelDirectivesFromString ModelDirective ModelDirectives ModelInstanceInfo PackageMap Parser
    ProcessModelDirectives
    """,
    "multibody.plant": """
    AddMultibodyPlant AddMultibodyPlantSceneGraph ApplyMultibodyPlantConfig
    CalcContactFrictionFromSurfaceProperties ConnectContactResultsToDrakeVisualizer ContactModel ContactResults
    ContactResultsToLcmSystem ContactResults_ CoulombFriction CoulombFriction_ DeformableContactInfo
    DeformableContactInfo_ DeformableModel DiscreteContactApproximation DiscreteContactSolver
    DistanceConstraintParams ExternallyAppliedSpatialForce ExternallyAppliedSpatialForceMultiplexer
    ExternallyAppliedSpatialForceMultiplexer_ ExternallyAppliedSpatialForce_ HydroelasticContactInfo
    HydroelasticContactInfo_ MultibodyPlant MultibodyPlantConfig MultibodyPlant_ PhysicalModel
    PointPairContactInfo PointPairContactInfo_ Propeller PropellerInfo Propeller_ Wing Wing_
    """,
    "multibody.rational": "RationalForwardKinematics RationalForwardKinematicsPose RationalForwardKinematicsPose_",
    "multibody.tree": """
    BallRpyJoint BallRpyJoint_ Body BodyIndex Body_ CalcSpatialInertia DeformableBody DeformableBodyId
    DeformableBodyIndex DoorHinge DoorHingeConfig DoorHinge_ FixedOffsetFrame FixedOffsetFrame_ ForceDensityField
    ForceDensityField_ ForceElement ForceElementIndex ForceElement_ Frame FrameIndex Frame_ GravityForceField
    GravityForceField_ JacobianWrtVariable Joint JointActuator JointActuatorIndex JointActuator_ JointIndex Joint_
    LinearBushingRollPitchYaw LinearBushingRollPitchYaw_ LinearSpringDamper LinearSpringDamper_ ModelInstanceIndex
    MultibodyConstraintId MultibodyForces MultibodyForces_ PdControllerGains PlanarJoint PlanarJoint_
    PrismaticJoint PrismaticJoint_ PrismaticSpring PrismaticSpring_ QuaternionFloatingJoint
    QuaternionFloatingJoint_ RevoluteJoint RevoluteJoint_ RevoluteSpring RevoluteSpring_ RigidBody RigidBodyFrame
    RigidBodyFrame_ RigidBody_ RotationalInertia RotationalInertia_ RpyFloatingJoint RpyFloatingJoint_ ScopedName
    ScrewJoint ScrewJoint_ SpatialInertia SpatialInertia_ UniformGravityFieldElement UniformGravityFieldElement_
    UnitInertia UnitInertia_ UniversalJoint UniversalJoint_ WeldJoint WeldJoint_ default_model_instance
    world_frame_index world_index world_model_instance
    """,
    "perception": "BaseField Concatenate DepthImageToPointCloud Fields PointCloud PointCloudToLcm",
    "planning": """
    AddDirectCollocationConstraint BodyShapeDescription CollisionChecker CollisionCheckerContext
    CollisionCheckerParams CommonSampledIrisOptions DirectCollocation DirectCollocationConstraint
    DirectTranscription DistanceAndInterpolationProvider DofMask EdgeMeasure GcsTrajectoryOptimization
    GetContinuousRevoluteJointIndices IrisFromCliqueCoverOptions IrisInConfigurationSpaceFromCliqueCover IrisNp2
    IrisNp2Options IrisParameterizationFunction IrisZo IrisZoOptions JointLimits KinematicTrajectoryOptimization
    LinearDistanceAndInterpolationProvider MakeBodyShapeDescription MaxCliqueSolverBase MaxCliqueSolverViaGreedy
    MaxCliqueSolverViaMip MinCliqueCoverSolverBase MinCliqueCoverSolverViaGreedy MultipleShooting
    RaySamplerOptions RobotClearance RobotCollisionType RobotDiagram RobotDiagramBuilder RobotDiagramBuilder_
    RobotDiagram_ SceneGraphCollisionChecker UnimplementedCollisionChecker VisibilityGraph ZmpPlanner
    """,
    "polynomial": "Polynomial Polynomial_",
    "solvers": """
    AddBilinearProductMcCormickEnvelopeSos2 AddLogarithmicSos1Constraint AddLogarithmicSos2Constraint
    AddSos2Constraint AugmentedLagrangianNonsmooth AugmentedLagrangianSmooth Binding BoundingBoxConstraint
    ChooseBestSolver ClarabelSolver ClarabelSolverDetails ClpSolver ClpSolverDetails CommonSolverOption Constraint
    Cost CsdpSolver CsdpSolverDetails EvaluatorBase ExponentialConeConstraint ExpressionConstraint ExpressionCost
    GenerateSDPA GetAvailableSolvers GetProgramType GurobiSolver GurobiSolverDetails IntervalBinning IpoptSolver
    IpoptSolverDetails L1NormCost L2NormCost LInfNormCost LinearComplementarityConstraint LinearConstraint
    LinearCost LinearEqualityConstraint LinearMatrixInequalityConstraint LorentzConeConstraint
    MakeFirstAvailableSolver MakeSemidefiniteRelaxation MakeSolver MathematicalProgram MathematicalProgramResult
    MinimumValueLowerBoundConstraint MinimumValueUpperBoundConstraint MixedIntegerBranchAndBound
    MixedIntegerRotationConstraintGenerator MobyLcpSolver MosekSolver MosekSolverDetails NloptSolver
    NloptSolverDetails OsqpSolver OsqpSolverDetails PerspectiveQuadraticCost PositiveSemidefiniteConstraint
    ProgramAttribute ProgramType ProjectedGradientDescentSolver PyFunctionConstraint PyFunctionCost
    QuadraticConstraint QuadraticCost RemoveFreeVariableMethod RotatedLorentzConeConstraint ScsSolver
    ScsSolverDetails SemidefiniteRelaxationOptions SnoptSolver SnoptSolverDetails SolutionResult Solve
    SolveInParallel SolverId SolverInterface SolverOptions SolverType UnrevisedLemkeSolver VisualizationCallback
    """,
    "symbolic": """
    CalcMonomialBasisOrderUpToOne CalcPolynomialWLowerTriangularPart DecomposeAffineExpression
    DecomposeAffineExpressions DecomposeL2NormExpression DecomposeLinearExpressions DecomposeLumpedParameters
    DecomposeQuadraticPolynomial Evaluate EvenDegreeMonomialBasis Expression ExpressionKind
    ExtractVariablesFromExpression Formula FormulaKind GetVariableVector IsAffine Jacobian
    MakeMatrixBinaryVariable MakeMatrixBooleanVariable MakeMatrixContinuousVariable MakeMatrixVariable
    MakeVectorBinaryVariable MakeVectorBooleanVariable MakeVectorContinuousVariable MakeVectorVariable Monomial
    MonomialBasis OddDegreeMonomialBasis Polynomial RationalFunction ReplaceBilinearTerms SinCos
    SinCosSubstitutionType Substitute SubstituteAndExpandCacheData SubstituteStereographicProjection TaylorExpand
    ToLatex Variable Variables abs acos arccos arcsin arctan arctan2 asin atan atan2 ceil cos cosh exp floor
    forall from_sympy if_then_else intersect inv isnan log logical_and logical_not logical_or max min
    positive_semidefinite pow sin sinh sqrt tan tanh to_sympy uninterpreted_function
    """,
    "systems.analysis": """
    ApplySimulatorConfig BatchEvalTimeDerivatives BatchEvalUniquePeriodicDiscreteUpdate DiscreteTimeApproximation
    ExtractSimulatorConfig GetIntegrationSchemes InitializeParams IntegratorBase IntegratorBase_
    MonteCarloSimulation PrintSimulatorStatistics RandomSimulation RandomSimulationResult RegionOfAttraction
    RegionOfAttractionOptions ResetIntegratorFromFlags RungeKutta2Integrator RungeKutta2Integrator_
    RungeKutta3Integrator RungeKutta3Integrator_ Simulator SimulatorConfig SimulatorStatus Simulator_
    """,
    "systems.controllers": """
    DiscreteTimeLinearQuadraticRegulator DynamicProgrammingOptions FiniteHorizonLinearQuadraticRegulator
    FiniteHorizonLinearQuadraticRegulatorOptions FiniteHorizonLinearQuadraticRegulatorResult FittedValueIteration
    InverseDynamics InverseDynamicsController JointStiffnessController
    LinearProgrammingApproximateDynamicProgramming LinearQuadraticRegulator
    MakeFiniteHorizonLinearQuadraticRegulator PeriodicBoundaryCondition PidControlledSystem PidController
    """,
    "systems.drawing": "plot_graphviz plot_system_graphviz running_as_notebook",
    "systems.estimators": """
    DiscreteTimeSteadyStateKalmanFilter LuenbergerObserver LuenbergerObserver_ SteadyStateKalmanFilter
    """,
    "systems.framework": """
    AbstractParameterIndex AbstractStateIndex AbstractValues BasicVector BasicVector_ BusValue CacheEntry
    CacheEntryValue CacheIndex Context ContextBase Context_ ContinuousState ContinuousStateIndex ContinuousState_
    DependencyTicket Diagram DiagramBuilder DiagramBuilder_ Diagram_ DiscreteStateIndex DiscreteUpdateEvent
    DiscreteUpdateEvent_ DiscreteValues DiscreteValues_ Event EventStatus Event_ FixedInputPortValue InputPort
    InputPortIndex InputPortSelection InputPort_ LeafContext LeafContext_ LeafOutputPort LeafOutputPort_
    LeafSystem LeafSystem_ NumericParameterIndex OutputPort OutputPortIndex OutputPortSelection OutputPort_
    Parameters Parameters_ PeriodicEventData PortDataType PublishEvent PublishEvent_ State State_ SubsystemIndex
    Subvector Subvector_ Supervector Supervector_ System SystemBase SystemConstraintIndex SystemOutput
    SystemOutput_ SystemScalarConverter SystemVisitor SystemVisitor_ System_ TriggerType UnrestrictedUpdateEvent
    UnrestrictedUpdateEvent_ UseDefaultName ValueProducer VectorBase VectorBase_ VectorSystem VectorSystem_
    WitnessFunction WitnessFunctionDirection WitnessFunction_ kUseDefaultName
    """,
    "systems.jupyter_widgets": "PoseSliders WidgetSystem",
    "systems.lcm": """
    ApplyLcmBusConfig LcmBuses LcmInterfaceSystem LcmPublisherSystem LcmScopeSystem LcmSubscriberSystem
    PySerializer SerializerInterface
    """,
    "systems.perception": "PointCloudConcatenation",
    "systems.planar_scenegraph_visualizer": "ConnectPlanarSceneGraphVisualizer PlanarSceneGraphVisualizer",
    "systems.primitives": """
    AddRandomInputs Adder Adder_ AffineSystem AffineSystem_ BarycentricMeshSystem BusCreator BusCreator_
    BusSelector BusSelector_ ConstantValueSource ConstantValueSource_ ConstantVectorSource ConstantVectorSource_
    ControllabilityMatrix Demultiplexer Demultiplexer_ DiscreteDerivative DiscreteDerivative_ DiscreteTimeDelay
    DiscreteTimeDelay_ DiscreteTimeIntegrator DiscreteTimeIntegrator_ FirstOrderLowPassFilter
    FirstOrderLowPassFilter_ FirstOrderTaylorApproximation Gain Gain_ Integrator Integrator_ IsControllable
    IsDetectable IsObservable IsStabilizable LinearSystem LinearSystem_ LinearTransformDensity
    LinearTransformDensity_ Linearize LogVectorOutput MatrixGain MatrixGain_ MultilayerPerceptron
    MultilayerPerceptron_ Multiplexer Multiplexer_ ObservabilityMatrix PassThrough PassThrough_
    PerceptronActivationType PortSwitch PortSwitch_ RandomSource Saturation Saturation_ Selector SelectorParams
    Selector_ SharedPointerSystem SharedPointerSystem_ Sine Sine_ SparseMatrixGain SparseMatrixGain_
    StateInterpolatorWithDiscreteDerivative StateInterpolatorWithDiscreteDerivative_ SymbolicVectorSystem
    SymbolicVectorSystem_ TrajectoryAffineSystem TrajectoryAffineSystem_ TrajectoryLinearSystem
    TrajectoryLinearSystem_ TrajectorySource TrajectorySource_ VectorLog VectorLogSink VectorLogSink_ VectorLog_
    WrapToSystem WrapToSystem_ ZeroOrderHold ZeroOrderHold_
    """,
    "systems.pyplot_visualizer": "PyPlotVisualizer",
    "systems.rendering": "MultibodyPositionToGeometryPose",
    "systems.scalar_conversion": """
    AutoDiffXd Expression LeafSystem_ SystemScalarConverter TemplateClass TemplateMethod TemplateSystem
    pretty_class_name
    """,
    "systems.sensors": """
    Accelerometer Accelerometer_ ApplyCameraConfig CameraConfig CameraInfo ConvertDepth16UTo32F
    ConvertDepth32FTo16U Gyroscope Gyroscope_ Image ImageBgr8U ImageBgra8U ImageDepth16U ImageDepth32F
    ImageFileFormat ImageGrey8U ImageIo ImageLabel16I ImageRgb8U ImageRgba8U ImageToLcmImageArrayT ImageTraits
    ImageWriter LcmImageArrayToImages PixelFormat PixelScalar PixelType RgbdSensor RgbdSensorAsync
    RgbdSensorDiscrete RotaryEncoders RotaryEncoders_
    """,
    "trajectories": """
    BezierCurve BezierCurve_ BsplineTrajectory BsplineTrajectory_ CompositeTrajectory CompositeTrajectory_
    DerivativeTrajectory DerivativeTrajectory_ DiscreteTimeTrajectory DiscreteTimeTrajectory_
    ExponentialPlusPiecewisePolynomial ExponentialPlusPiecewisePolynomial_ FunctionHandleTrajectory
    FunctionHandleTrajectory_ PathParameterizedTrajectory PathParameterizedTrajectory_ PiecewisePolynomial
    PiecewisePolynomial_ PiecewisePose PiecewisePose_ PiecewiseQuaternionSlerp PiecewiseQuaternionSlerp_
    PiecewiseTrajectory PiecewiseTrajectory_ StackedTrajectory StackedTrajectory_ Trajectory Trajectory_
    """,
    "visualization": """
    AddDefaultVisualization AddFrameTriadIllustration ApplyVisualizationConfig ColorizeDepthImage
    ColorizeLabelImage ConcatenateImages Meldis MeshcatPoseSliders MeshcatPoseSliders_ ModelVisualizer VideoWriter
    VisualizationConfig plot_sublevelset_expression plot_sublevelset_quadratic
    """,
    "visualization.meldis": "",
    "visualization.model_visualizer": "",
}  # fmt: skip

# What pydrake 1.51 has and 1.58 has not, and what does the same there.
TAKEN_AWAY = {
    "MultibodyPlant.GetDefaultFreeBodyPose": "GetDefaultFloatingBaseBodyPose",
    "MultibodyPlant.SetDefaultFreeBodyPose": "SetDefaultFloatingBaseBodyPose",
    "MultibodyPlant.GetUniqueFreeBaseBodyOrThrow": "GetUniqueFloatingBaseBodyOrThrow",
    "MultibodyPlant.HasUniqueFreeBaseBody": "HasUniqueFloatingBaseBody",
    "RigidBody.is_floating": "is_floating_base_body",
    "DiscreteContactApproximation.kTamsi": "kSimilar or kLagged",
    "DiscreteContactSolver.kTamsi": "DiscreteContactApproximation.kSimilar or kLagged",
    "Simulator.set_publish_at_initialization": "publish events that systems declare",
    "Simulator.set_publish_every_time_step": "publish events that systems declare",
    "SimulatorConfig.publish_every_time_step": "publish events that systems declare",
    "RenderEngine.SetDefaultLightPosition": "lights in the parameters of engines",
    "trigger_an_assertion_failure": "nothing",
}

# Modules of pydrake, without "pydrake.", and the names that they define.
NAMES: dict[str, frozenset[str]] = {module: frozenset(names.split()) for module, names in _TEXT.items()}

_COMMON = (
    "common", "common.compatibility", "common.containers", "common.eigen_geometry", "common.schema", "common.yaml",
    "common.value",
)  # fmt: skip
_GEOMETRY = ("geometry", "geometry.optimization")
_MULTIBODY = (
    "multibody.cenic", "multibody.contact_solvers", "multibody.inverse_kinematics", "multibody.fem", "multibody.math",
    "multibody.meshcat", "multibody.optimization", "multibody.parsing", "multibody.plant", "multibody.rational",
    "multibody.tree", "multibody.benchmarks.acrobot",
)  # fmt: skip
_SYSTEMS = (
    "systems.analysis", "systems.controllers", "systems.drawing", "systems.estimators", "systems.framework",
    "systems.lcm", "systems.perception", "systems.planar_scenegraph_visualizer", "systems.primitives",
    "systems.pyplot_visualizer", "systems.rendering", "systems.scalar_conversion", "systems.sensors",
)  # fmt: skip

# Modules that have the names of others: of those that more than one has, the last one counts.
MODULES_OF: dict[str, tuple[str, ...]] = {
    "all": (
        "", "autodiffutils", "forwarddiff", "lcm", "manipulation", "math", "perception", "planning", "polynomial",
        "solvers", "symbolic", "trajectories", *_COMMON, *_GEOMETRY, *_MULTIBODY, *_SYSTEMS, "visualization", "math",
    ),
    "common.all": _COMMON,
    "geometry.all": _GEOMETRY,
    "multibody.all": _MULTIBODY,
    "multibody.benchmarks.all": ("multibody.benchmarks.acrobot",),
    "systems.all": _SYSTEMS,
}  # fmt: skip


ROOT = "pydrake"

# What `from pydrake.all import *` brings along beside pydrake's own names: modules of Python, by name.
ALONG_WITH_ALL = {"np": "numpy", "functools": "functools", "operator": "operator", "typing": "typing"}

_CONTROLLERS = ("analysis.controllers", "multibody.controllers")

# Modules of pydrake, without "pydrake.", and those of merganser, without "merganser.", that have their names. Of other
# modules of pydrake merganser has nothing.
ADDRESSES: dict[str, tuple[str, ...]] = {
    "": ("drake.common",),
    "autodiffutils": ("framework.autodiff", "framework.math"),
    "common": ("drake.common", "framework", "framework.trajectories", "geometry"),
    "common.compatibility": ("drake.common",),
    "common.containers": ("drake.containers",),
    "common.cpp_param": ("drake.cpp_param",),
    "common.cpp_template": ("drake.cpp_template",),
    "common.deprecation": ("drake.deprecation",),
    "common.eigen_geometry": ("framework.math",),
    "common.schema": ("framework.schema",),
    "common.value": ("framework", "drake.cpp_param"),
    "common.yaml": ("framework.yaml", "drake.cpp_param"),
    "examples": ("examples",),
    "examples.acrobot": ("examples",),
    "examples.compass_gait": ("examples",),
    "examples.pendulum": ("examples",),
    "examples.quadrotor": ("examples",),
    "examples.rimless_wheel": ("examples",),
    "examples.van_der_pol": ("examples",),
    "forwarddiff": ("framework.autodiff", "framework.math"),
    "geometry": ("geometry",),
    "gym": ("analysis.gym",),
    "geometry.optimization": ("geometry.optimization", "multibody.planning"),
    "lcm": ("framework.lcm",),
    "manipulation": ("multibody.manipulation",),
    "math": ("framework.math", "framework.autodiff"),
    "multibody.benchmarks": ("multibody.benchmarks",),
    "multibody.benchmarks.acrobot": ("multibody.benchmarks",),
    "multibody.cenic": ("multibody.cenic",),
    "multibody.contact_solvers": ("multibody.cenic",),
    "multibody.fem": ("multibody.fem",),
    "multibody.fix_inertia": ("multibody.fix_inertia",),
    "multibody.inverse_kinematics": ("multibody.inverse_kinematics",),
    "multibody.math": ("multibody.math",),
    "multibody.mesh_to_model": ("multibody.mesh_to_model",),
    "multibody.meshcat": ("multibody.visualization",),
    "multibody.optimization": ("multibody.optimization", "multibody.planning"),
    "multibody.parsing": ("multibody.parsing",),
    "multibody.plant": ("multibody.plant",),
    "multibody.rational": ("multibody.rational",),
    "multibody.tree": ("multibody.tree",),
    "perception": ("geometry.perception",),
    "planning": ("multibody.planning", "analysis.trajectory_optimization"),
    "polynomial": ("framework.trajectories",),
    "solvers": ("framework.optimization",),
    "symbolic": ("framework.symbolic",),
    "systems.analysis": ("analysis",),
    "systems.controllers": _CONTROLLERS,
    "systems.drawing": ("framework",),
    "systems.estimators": ("analysis.estimators",),
    "systems.framework": ("framework",),
    "systems.lcm": ("framework.lcm",),
    "systems.perception": ("geometry.perception", "framework", "framework.math"),
    "systems.planar_scenegraph_visualizer": ("geometry.visualizers",),
    "systems.primitives": ("framework.primitives", "analysis"),
    "systems.pyplot_visualizer": ("geometry.visualizers",),
    "systems.rendering": ("multibody.plant",),
    "systems.scalar_conversion": (
        "framework",
        "framework.autodiff",
        "framework.symbolic",
        "drake.cpp_template",
        "drake.common",
    ),
    "systems.sensors": ("geometry.sensors", "multibody.sensors"),
    "trajectories": ("framework.trajectories",),
    "visualization": ("multibody.visualization", "geometry.sensors"),
}

_PACKAGES = {module.rpartition(".")[0] for module in (*ADDRESSES, *NAMES, *MODULES_OF)}


def inner(module: str) -> str:
    """The name of a module of pydrake without "pydrake."."""
    return module.removeprefix(ROOT).removeprefix(".")


def is_module(name: str) -> bool:
    """Whether pydrake has, or had, a module of this name (without "pydrake.")."""
    return name in ADDRESSES or name in NAMES or name in MODULES_OF or name in _PACKAGES


def modules_with(module: str, name: str) -> tuple[str, ...]:
    """Modules that may define a name of a pydrake module: itself, or those it imports from."""
    if module not in MODULES_OF:
        return (module,)
    return tuple(dict.fromkeys(each for each in reversed(MODULES_OF[module]) if name in NAMES[each]))


def names_of(module: str) -> frozenset[str]:
    """All public names of a module of pydrake, whether or not merganser has them."""
    return frozenset().union(*(NAMES.get(each, frozenset()) for each in MODULES_OF.get(module, (module,))))
