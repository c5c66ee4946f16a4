"""A robot of revolute, prismatic and fixed joints, with branches and poses of frames that are nothing special."""

ROBOT = """<robot name='r'>
<link name='b0'/><link name='b1'/><link name='b2'/><link name='b3'/><link name='b4'/>
<joint name='j0' type='revolute'><parent link='world'/><child link='b0'/><origin xyz='.1 .2 .3' rpy='.1 .2 .3'/>
  <axis xyz='0 0 1'/><limit lower='-2' upper='1'/></joint>
<joint name='j1' type='prismatic'><parent link='b0'/><child link='b1'/><origin xyz='.4 0 0' rpy='.3 0 0'/>
  <axis xyz='0 1 1'/><limit lower='-1' upper='1'/></joint>
<joint name='jf' type='fixed'><parent link='b1'/><child link='b4'/><origin xyz='.4 1 0' rpy='.3 0 1'/></joint>
<joint name='j2' type='revolute'><parent link='b4'/><child link='b2'/><origin xyz='.4 0 .1' rpy='.3 0.5 0'/>
  <axis xyz='0 1 1'/><limit lower='-1' upper='1'/></joint>
<joint name='j3' type='continuous'><parent link='b0'/><child link='b3'/><origin xyz='.4 0 .1' rpy='.3 0.5 0'/>
  <axis xyz='1 1 1'/></joint>
</robot>"""
